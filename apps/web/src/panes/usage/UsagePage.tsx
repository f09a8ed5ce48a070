import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useFleet } from '../../state/fleet/use-fleet.ts'
import { useHarnesses } from '../../state/server/use-api.ts'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { type Segment, Segmented } from '../../ui/controls/Segmented.tsx'
import { Cost } from '../../ui/marks/Cost.tsx'
import { Dot } from '../../ui/marks/Dot.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { formatCost, formatCount, plural } from '../../ui/text/format.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { toneOf } from '../sidebar/groups.logic.ts'
import { sessionTitle } from '../sidebar/session-title.ts'
import { type Spend, spendBy, spendOfAll, type UsageBy, usageCsv } from './usage.logic.ts'
import './usage.css'

const VIEWS: readonly Segment<UsageBy>[] = [
  { value: 'project', label: 'Project' },
  { value: 'agent', label: 'Agent' },
  { value: 'model', label: 'Model' },
  { value: 'persona', label: 'Persona' },
]
const SHOWN_SESSIONS = 10

/** What the sessions that are kept have cost, over their whole life, and which cost most. */
export default function UsagePage() {
  const fleet = useFleet()
  const [by, setBy] = useState<UsageBy>('project')
  const harnesses = useHarnesses()
  const agentName = (id: string) => harnesses.find(harness => harness.id === id)?.name ?? id
  const all = spendOfAll(fleet)
  const top = [...fleet]
    .sort((a, b) => (b.costUsd ?? 0) - (a.costUsd ?? 0) || b.tokens - a.tokens)
    .slice(0, SHOWN_SESSIONS)
  return (
    <ScrollRegion className="usage" label="Usage">
      <div className="usage__page">
        <header className="usage__head">
          <h1>Usage</h1>
          <p>{`Of ${plural(fleet.length, 'session')} that are kept, from their first turn on.`}</p>
          <CopyButton text={() => usageCsv(fleet)} label="Copy as CSV" />
        </header>
        {fleet.length === 0 ? (
          <Empty title="No sessions yet">Start one on the start page.</Empty>
        ) : (
          <>
            <p className="usage__total">
              <b>{formatCost(all.usd, all.isEstimate)}</b>
              <span>{`${formatCount(all.tokens)} tokens`}</span>
              {all.unpriced > 0 ? (
                <span>{`without ${plural(all.unpriced, 'session')} whose price nobody knows`}</span>
              ) : null}
            </p>
            <section className="usage__card" aria-label="What it was spent on">
              <Segmented<UsageBy> label="Spend by" value={by} segments={VIEWS} onChange={setBy} />
              <Bars spends={spendBy(fleet, by, agentName)} />
            </section>
            <section className="usage__card" aria-label="The dearest sessions">
              <h2>The dearest sessions</h2>
              <ul>
                {top.map(status => (
                  <li key={status.sessionId}>
                    <Link className="usage__row" to="/s/$sessionId" params={{ sessionId: status.sessionId }}>
                      <Dot tone={toneOf(status)} />
                      <span className="truncate">{sessionTitle(status)}</span>
                      <span className="spacer" />
                      <span className="number">{`${formatCount(status.tokens)} tokens`}</span>
                      <Cost status={status} />
                    </Link>
                  </li>
                ))}
              </ul>
            </section>
          </>
        )}
      </div>
    </ScrollRegion>
  )
}

/** By dollars; by tokens where nothing has a price. */
function Bars({ spends }: { spends: readonly Spend[] }) {
  const isPriced = spends.some(({ usd }) => usd > 0)
  const size = ({ usd, tokens }: Spend) => (isPriced ? usd : tokens)
  const most = Math.max(...spends.map(size), Number.MIN_VALUE)
  return (
    <ul className="usage__bars">
      {spends.map(spend => (
        <li key={spend.name} className="usage__bar">
          <span className="truncate">{spend.name}</span>
          <svg width="100%" height="8" aria-hidden="true">
            <rect className="usage__track" width="100%" height="8" rx="4" />
            <rect className="usage__value" width={`${(size(spend) / most) * 100}%`} height="8" rx="4" />
          </svg>
          <span className="number">
            {spend.unpriced === spend.sessions
              ? `${formatCount(spend.tokens)} tokens`
              : formatCost(spend.usd, spend.isEstimate)}
          </span>
          <span className="number">{plural(spend.sessions, 'session')}</span>
        </li>
      ))}
    </ul>
  )
}
