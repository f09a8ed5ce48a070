import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { placeName, projectName } from '../../app/project.ts'
import { useShell } from '../../app/shell/shell-context.ts'
import { useFleetStore, useParked } from '../../state/fleet/use-fleet.ts'
import type { SessionStatus } from '../../state/server/answers.ts'
import { useHarnesses, useUsage } from '../../state/server/use-client.ts'
import { Cost } from '../../ui/marks/Cost.tsx'
import { Dot } from '../../ui/marks/Dot.tsx'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { formatCost, formatCount, formatUsd, formatWait } from '../../ui/text/format.ts'
import { useNow } from '../../ui/text/use-now.ts'
import { sessionTitle } from '../../words/session-title.ts'
import { groupOf, groupSessions, statusLine, taskLine, toneOf } from '../sidebar/groups.logic.ts'
import { PlanWindows } from '../usage/PlanWindows.tsx'
import { seriesOf, totalOf } from '../usage/usage.logic.ts'

interface SessionsProps {
  sessions: readonly SessionStatus[]
}

const SHOWN_LATELY = 8

export function NeedsYou({ sessions, project }: SessionsProps & { project: string | undefined }) {
  const shell = useShell()
  const now = useNow()
  const waiting = inGroup(sessions, 'Needs you')
  const tasks = useParked().filter(({ project: root }) => project === undefined || root === project)
  if (waiting.length + tasks.length === 0) return null
  return (
    <section className="home-strip" aria-label="Needs you">
      <header className="home-list__head">
        <h2>Needs you</h2>
        <span className="number">{waiting.length + tasks.length}</span>
        <span className="spacer" />
        <button type="button" className="home-strip__all" onClick={() => shell.open({ kind: 'tray' })}>
          Go through them <Kbd>W</Kbd>
        </button>
      </header>
      <ul>
        {waiting.map(status => (
          <Row key={status.sessionId} status={status} line={statusLine(status, now)}>
            <Where status={status} />
            <span className="home-row__age number">{formatWait(status.updatedAt, now)}</span>
          </Row>
        ))}
        {tasks.map(task => (
          <li key={`${task.loopId} ${task.id}`}>
            <Link className="home-row" to="/loops/$loopId" params={{ loopId: task.loopId }}>
              <Dot tone="need" />
              <span className="home-row__title truncate">{task.title}</span>
              <span className="home-row__line truncate">{taskLine(task)}</span>
              <span className="home-row__where truncate">{projectName(task.project)}</span>
              <span className="home-row__age number">
                {task.endedAt ? formatWait(task.endedAt, now) : null}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

export function Working({ sessions }: SessionsProps) {
  const store = useFleetStore()
  const now = useNow()
  const working = inGroup(sessions, 'Working')
  if (working.length === 0) return null
  const burn = working.reduce((sum, { sessionId }) => sum + store.burn(sessionId, now), 0)
  return (
    <section className="home-list" aria-label="Working">
      <header className="home-list__head">
        <h2>Working</h2>
        <span className="number">{working.length}</span>
        <span className="spacer" />
        {burn > 0 ? <span className="number">{`${formatUsd(burn)}/min`}</span> : null}
      </header>
      <ul>
        {working.map(status => (
          <Row key={status.sessionId} status={status} line={statusLine(status, now)}>
            <Where status={status} />
            <Cost status={status} burn={store.burn(status.sessionId, now)} />
          </Row>
        ))}
      </ul>
    </section>
  )
}

/** Cost of all agents since midnight, and the rest of their plans. */
export function Today() {
  const { report } = useUsage(1)
  const harnesses = useHarnesses()
  const agentName = (id: string) => harnesses.find(harness => harness.id === id)?.name ?? id
  if (!report) return null
  const total = totalOf(report.rows)
  if (total.tokens === 0 && total.usd === 0 && report.plans.length === 0) return null
  const agents = seriesOf(report, 'agent', 'cost', agentName)
  return (
    <section className="home-today" aria-label="Today">
      <Link className="home-today__sum" to="/usage">
        <h2>Today</h2>
        <b>{formatCost(total.usd, total.isEstimate)}</b>
        <span className="home-today__tokens">{`${formatCount(total.tokens)} tokens`}</span>
      </Link>
      {agents.length > 1 ? (
        <ul>
          {agents.map(({ name, usd, isEstimate, tokens }) => (
            <li key={name} className="home-today__agent">
              <span className="truncate">{name}</span>
              <span className="number">
                {usd > 0 ? formatCost(usd, isEstimate) : `${formatCount(tokens)} tokens`}
              </span>
            </li>
          ))}
        </ul>
      ) : null}
      {report.plans.length > 0 ? <PlanWindows plans={report.plans} agentName={agentName} /> : null}
    </section>
  )
}

export function Lately({ sessions }: SessionsProps) {
  const now = useNow()
  const rest = sessions
    .filter(status => !['Needs you', 'Working'].includes(groupOf(status)))
    .sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1))
    .slice(0, SHOWN_LATELY)
  if (rest.length === 0) return null
  return (
    <section className="home-list" aria-label="Lately">
      <header className="home-list__head">
        <h2>Lately</h2>
      </header>
      <ul>
        {rest.map(status => (
          <Row key={status.sessionId} status={status} line={statusLine(status, now)}>
            <Where status={status} />
            <Cost status={status} />
          </Row>
        ))}
      </ul>
    </section>
  )
}

function Row({ status, line, children }: { status: SessionStatus; line: string; children: ReactNode }) {
  return (
    <li>
      <Link className="home-row" {...placeOf(status)}>
        <Dot tone={toneOf(status)} />
        <span className="home-row__title truncate">{sessionTitle(status)}</span>
        <span className="home-row__line truncate">{line}</span>
        {children}
      </Link>
    </li>
  )
}

/** A task that waits is answered on the page of its loop. */
function placeOf({ sessionId, task }: SessionStatus) {
  if (task?.status === 'parked') return { to: '/loops/$loopId', params: { loopId: task.loopId } } as const
  return { to: '/s/$sessionId', params: { sessionId } } as const
}

function Where({ status }: { status: SessionStatus }) {
  return <span className="home-row__where truncate">{placeName(status)}</span>
}

function inGroup(sessions: readonly SessionStatus[], name: string): readonly SessionStatus[] {
  return groupSessions(sessions).find(group => group.name === name)?.sessions ?? []
}
