import type { PermissionMode } from '@chirality/core'
import { harnessLabel, permissionLabel } from '../../app/labels.ts'
import type { HarnessInfo, SessionStatus } from '../../state/server-api.ts'
import { useApi } from '../../state/use-api.ts'
import { useSession } from '../../state/use-session.ts'
import { messageOf } from '../../ui/error-message.ts'
import { Menu } from '../../ui/Menu.tsx'
import { toasts } from '../../ui/toast-store.ts'
import { offers } from '../sidebar/new-session.logic.ts'

/** What the next message runs with. */
export function Chips({ status, harness }: { status: SessionStatus; harness: HarnessInfo | undefined }) {
  const api = useApi()
  const agent = useSession(({ state }) => state.agent)
  const setMode = (mode: PermissionMode) =>
    void api
      .setPermissionMode(status.sessionId, mode)
      .catch((error: unknown) => toasts.error(messageOf(error)))
  return (
    <>
      <Menu
        trigger={
          <button
            type="button"
            className="chip chip--button"
            aria-label={`Permissions: ${permissionLabel(agent.permissionMode ?? 'default')}`}
          >
            {permissionLabel(agent.permissionMode ?? 'default')}
          </button>
        }
        items={offers(harness).permissionModes.map(mode => ({
          label: permissionLabel(mode),
          danger: mode === 'bypassPermissions',
          onSelect: () => setMode(mode),
        }))}
      />
      {status.persona ? <span className="chip">{status.persona}</span> : null}
      <span className="chip">{status.mode}</span>
      <span className="chip only-wide">{harnessLabel(status.harness)}</span>
    </>
  )
}
