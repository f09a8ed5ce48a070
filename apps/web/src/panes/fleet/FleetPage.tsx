import { Link } from '@tanstack/react-router'
import { useHarnessLabel } from '../../app/labels.ts'
import { projectName } from '../../app/project.ts'
import { useFleet, useFleetStore } from '../../state/fleet/use-fleet.ts'
import type { SessionStatus } from '../../state/server/server-api.ts'
import { Cost } from '../../ui/marks/Cost.tsx'
import { Dot } from '../../ui/marks/Dot.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { formatUsd, plural } from '../../ui/text/format.ts'
import { useNow } from '../../ui/text/use-now.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { groupSessions, statusLine, toneOf } from '../sidebar/groups.logic.ts'
import { sessionTitle } from '../sidebar/session-title.ts'
import './fleet.css'

/** Every session on one page: who does what, what it costs a minute, who waits. */
export default function FleetPage() {
  const statuses = useFleet()
  const store = useFleetStore()
  const now = useNow()
  const burn = statuses.reduce((sum, { sessionId }) => sum + store.burn(sessionId, now), 0)
  const spent = statuses.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0)
  return (
    <ScrollRegion className="fleet" label="All sessions">
      <header className="fleet__head">
        <h1>All sessions</h1>
        <span className="number">{`${plural(statuses.length, 'session')} · ${formatUsd(spent)}${burn > 0 ? ` · ${formatUsd(burn)}/min` : ''}`}</span>
      </header>
      {statuses.length === 0 ? <Empty title="No sessions yet">Start one with N.</Empty> : null}
      {groupSessions(statuses).map(({ name, sessions }) => (
        <section key={name} aria-label={name}>
          <h2 className="fleet__group">{`${name} ${sessions.length}`}</h2>
          <ul className="fleet__grid">
            {sessions.map(status => (
              <FleetCard
                key={status.sessionId}
                status={status}
                burn={store.burn(status.sessionId, now)}
                now={now}
              />
            ))}
          </ul>
        </section>
      ))}
    </ScrollRegion>
  )
}

function FleetCard({ status, burn, now }: { status: SessionStatus; burn: number; now: number }) {
  const needs = status.pending.length > 0
  const label = useHarnessLabel(status.harness)
  return (
    <li>
      <Link
        className={needs ? 'fleet-card fleet-card--need' : 'fleet-card'}
        to="/s/$sessionId"
        params={{ sessionId: status.sessionId }}
      >
        <span className="fleet-card__title">
          <Dot tone={toneOf(status)} />
          <span className="truncate">{sessionTitle(status)}</span>
        </span>
        <span className="fleet-card__line">{statusLine(status, now)}</span>
        <span className="fleet-card__foot">
          <span className="truncate">{`${projectName(status.projectRoot)} · ${label}`}</span>
          <Cost status={status} burn={burn} />
        </span>
      </Link>
    </li>
  )
}
