import { Kbd } from '../../ui/marks/Kbd.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { SHORTCUTS } from '../shell/shortcuts.ts'
import './shortcuts.css'

export default function Shortcuts({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Shortcuts" onClose={onClose}>
      <ScrollRegion className="shortcuts" label="Keys">
        {SHORTCUTS.map(({ group, list }) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {list.map(({ keys, does }) => (
                <div key={keys} className="shortcuts__row">
                  <dt>
                    <Kbd>{keys}</Kbd>
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </ScrollRegion>
    </Dialog>
  )
}
