import { MODE_WORDS, PERMISSION_WORDS, permissionLabel } from '@chirality/core'
import { useHarnessLabel } from '../../app/labels.ts'
import type { HarnessInfo, SessionStatus } from '../../state/server/server-api.ts'
import { useApi } from '../../state/server/use-api.ts'
import { usePermissionMode, useSettingsChanged } from '../../state/session/use-settings.ts'
import { Menu, type MenuItem } from '../../ui/controls/Menu.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { type KeptMode, offers } from '../sidebar/new-session.logic.ts'

interface ChipsProps {
  status: SessionStatus
  harness: HarnessInfo | undefined
  /** The next message runs without asking anybody. */
  unchecked: boolean
  onUnchecked(unchecked: boolean): void
}

/** What the next message runs with. */
export function Chips({ status, harness, unchecked, onUnchecked }: ChipsProps) {
  const api = useApi()
  const { sessionId } = status
  const mode = usePermissionMode(sessionId)
  const changed = useSettingsChanged(sessionId)
  const label = useHarnessLabel(status.harness)
  const setMode = (chosen: KeptMode) => {
    onUnchecked(false)
    api
      .setPermissionMode(sessionId, chosen)
      .then(changed, (error: unknown) => toasts.error(messageOf(error), sessionId))
  }
  const everything = PERMISSION_WORDS.bypassPermissions
  const items: MenuItem[] = [
    ...offers(harness).permissionModes.map(kept => ({
      label: PERMISSION_WORDS[kept].label,
      detail: PERMISSION_WORDS[kept].consequence,
      checked: !unchecked && kept === mode,
      onSelect: () => setMode(kept),
    })),
    {
      label: `${everything.label}, for the next message`,
      detail: everything.consequence,
      checked: unchecked,
      danger: true,
      onSelect: () => onUnchecked(true),
    },
  ]
  const words = unchecked ? `${everything.label}: next message` : permissionLabel(mode)
  return (
    <>
      <Menu
        trigger={
          <button
            type="button"
            className={unchecked ? 'picker picker--danger' : 'picker'}
            aria-label={`Permissions: ${words}`}
          >
            <Icon name="shield" />
            <span className="truncate">{words}</span>
            <span className="picker__arrow">
              <Icon name="down" size={13} />
            </span>
          </button>
        }
        items={items}
        title="What may it do without asking you?"
      />
      {status.persona ? <span className="chip-fact">{status.persona}</span> : null}
      <span className="chip-fact" title={MODE_WORDS[status.mode].consequence}>
        {MODE_WORDS[status.mode].label}
      </span>
      <span className="chip-fact only-wide">{label}</span>
    </>
  )
}
