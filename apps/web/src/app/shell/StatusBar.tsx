import { useParams } from '@tanstack/react-router'
import { groupOf } from '../../panes/sidebar/groups.logic.ts'
import { useFleet, useStatus } from '../../state/fleet/use-fleet.ts'
import { useConnection } from '../../state/server/use-api.ts'
import { formatUsd, plural } from '../../ui/text/format.ts'
import { SessionFacts } from './SessionFacts.tsx'

export function StatusBar() {
  const { sessionId } = useParams({ strict: false })
  const status = useStatus(sessionId ?? '')
  const connection = useConnection()
  return (
    <footer className="status-bar">
      {status ? <SessionFacts sessionId={status.sessionId} /> : <FleetFacts />}
      <span className={connection === 'connected' ? 'status-bar__ok' : 'status-bar__bad'}>
        {connection === 'connected'
          ? '● connected'
          : connection === 'connecting'
            ? '○ connecting'
            : '○ offline'}
      </span>
    </footer>
  )
}

function FleetFacts() {
  const fleet = useFleet()
  const working = fleet.filter(status => groupOf(status) === 'Working').length
  const spent = fleet.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0)
  return (
    <>
      <span>{plural(fleet.length, 'session')}</span>
      <span>{`${working} working`}</span>
      <span className="spacer" />
      {spent > 0 && <span className="number">{formatUsd(spent)}</span>}
    </>
  )
}
