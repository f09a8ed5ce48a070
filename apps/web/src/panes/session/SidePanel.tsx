import { Tabs } from 'radix-ui'
import { lazy, Suspense, useState } from 'react'
import { SessionFacts } from '../../app/shell/SessionFacts.tsx'
import { useShell } from '../../app/shell/shell-context.ts'
import { LAYOUT_LIMITS, setLayout, useLayout } from '../../state/kept/layout.ts'
import type { SessionStatus } from '../../state/server/answers.ts'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { Splitter } from '../../ui/controls/Splitter.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { late } from '../../ui/overlay/late.tsx'
import { PANEL_TABS, type PanelTab, useIsPanelSheet } from './panel-place.ts'

const ChangesPane = late(() => import('../changes/ChangesPane.tsx'))
const ActivityPane = lazy(() => import('../activity/ActivityPane.tsx'))
const FilesPane = lazy(() => import('../files/FilesPane.tsx'))
const RawPane = lazy(() => import('../raw/RawPane.tsx'))
const PersonaPane = lazy(() => import('../persona/PersonaPane.tsx'))

interface SidePanelProps {
  status: SessionStatus
  tab: PanelTab
  onTab(tab: PanelTab): void
  /** Whose changes are shown: of the working tree, or of a turn. */
  scope: string
  onScope(scope: string): void
  onTurn(turnId: string): void
}

/** Panes beside the conversation, one key each. A column, or a sheet where there is no room for one. */
export function SidePanel(props: SidePanelProps) {
  const { dialog, close } = useShell()
  const isSheet = useIsPanelSheet()
  const { panel, panelWidth } = useLayout()
  if (dialog?.kind === 'panel') {
    return (
      <Dialog title="Beside the conversation" place="right" bare onClose={close}>
        <Panel {...props} onClose={close} />
      </Dialog>
    )
  }
  // What is not seen asks for nothing.
  if (isSheet || panel === 'closed') return null
  return (
    <aside className="session__side" aria-label="Beside the conversation">
      <Panel {...props} />
      <Splitter
        label="Width of the panel"
        side="right"
        value={panelWidth}
        {...LAYOUT_LIMITS.panelWidth}
        onChange={width => setLayout({ panelWidth: width })}
      />
    </aside>
  )
}

function Panel(props: SidePanelProps & { onClose?: () => void }) {
  const { status, tab, onTab, scope, onScope, onTurn, onClose } = props
  const [changed, setChanged] = useState(0)
  // The tabs move the focus themselves, which looks like the keyboard's to the browser.
  const [byPointer, setByPointer] = useState(false)
  return (
    <Tabs.Root
      className="panel"
      value={tab}
      onValueChange={value => onTab(PANEL_TABS.find(({ id }) => id === value)?.id ?? 'changes')}
    >
      <div className="panel__head">
        <Tabs.List
          className="panel__tabs"
          aria-label="Panes"
          data-pointer={byPointer || undefined}
          onPointerDown={() => setByPointer(true)}
          onKeyDown={() => setByPointer(false)}
        >
          {PANEL_TABS.map(({ id, label }) => {
            const words = id === 'changes' && changed > 0 ? `${label} ${changed}` : label
            return (
              <Tabs.Trigger key={id} value={id} className="panel__tab">
                {words}
              </Tabs.Trigger>
            )
          })}
        </Tabs.List>
        {onClose ? <IconButton icon="close" label="Close" onClick={onClose} /> : null}
      </div>
      {onClose ? (
        <p className="panel__facts">
          <SessionFacts sessionId={status.sessionId} />
        </p>
      ) : null}
      <Tabs.Content value={tab} className="panel__body" tabIndex={-1}>
        <Suspense fallback={null}>
          {tab === 'changes' ? (
            <ChangesPane status={status} scope={scope} onScope={onScope} onCount={setChanged} />
          ) : null}
          {tab === 'activity' ? <ActivityPane onTurn={onTurn} /> : null}
          {tab === 'files' ? <FilesPane status={status} /> : null}
          {tab === 'raw' ? <RawPane sessionId={status.sessionId} /> : null}
          {tab === 'persona' && !status.machine ? <PersonaPane status={status} /> : null}
          {tab === 'persona' && status.machine ? (
            <Empty title={`On ${status.machine.name}`}>
              Personas are files of the machine that has them.
            </Empty>
          ) : null}
        </Suspense>
      </Tabs.Content>
    </Tabs.Root>
  )
}
