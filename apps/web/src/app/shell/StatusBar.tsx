import type { ConnectionState } from '@chirality/client'
import { needsYouText } from '@chirality/core'
import { useParams } from '@tanstack/react-router'
import { countNeedsYou, groupOf } from '../../panes/sidebar/groups.logic.ts'
import { useFleet, useFleetStore, useParked, useStatus } from '../../state/fleet/use-fleet.ts'
import { useConnection } from '../../state/server/use-client.ts'
import { Dot } from '../../ui/marks/Dot.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { formatUsd } from '../../ui/text/format.ts'
import { useNow } from '../../ui/text/use-now.ts'
import { SessionFacts } from './SessionFacts.tsx'
import { useShell } from './shell-context.ts'
import './status-bar.css'

/** Sessions at work and waiting, facts of the session in view, and the state of the connection. */
export function StatusBar() {
  const { sessionId } = useParams({ strict: false })
  const status = useStatus(sessionId ?? '')
  const connection = useConnection()
  return (
    <footer className="status-bar">
      <FleetFacts />
      {status ? <SessionFacts sessionId={status.sessionId} /> : <span className="spacer" />}
      <span className={`status-bar__item status-bar__${connection}`}>
        <Icon name={connection === 'connected' ? 'online' : 'offline'} size={13} />
        {CONNECTIONS[connection]}
      </span>
    </footer>
  )
}

const CONNECTIONS: Readonly<Record<ConnectionState, string>> = {
  connected: 'Connected',
  connecting: 'Connecting',
  offline: 'Offline',
}

function FleetFacts() {
  const shell = useShell()
  const fleet = useFleet()
  const store = useFleetStore()
  const now = useNow()
  const working = fleet.filter(status => groupOf(status) === 'Working').length
  const waiting = countNeedsYou(fleet, useParked())
  const burn = fleet.reduce((sum, { sessionId }) => sum + store.burn(sessionId, now), 0)
  return (
    <>
      <span className="status-bar__item">
        <Dot tone={working > 0 ? 'work' : 'quiet'} />
        {`${working} working`}
      </span>
      {waiting > 0 ? (
        <button type="button" className="status-bar__need" onClick={() => shell.open({ kind: 'tray' })}>
          <Dot tone="need" />
          {needsYouText(waiting)}
        </button>
      ) : null}
      {burn > 0 ? <span className="number">{`${formatUsd(burn)}/min`}</span> : null}
    </>
  )
}
