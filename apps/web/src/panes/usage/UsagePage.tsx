import { usageCsv } from '@chirality/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { UsageReport } from '../../state/server/answers.ts'
import { useHarnesses, useUsage } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { type Segment, Segmented } from '../../ui/controls/Segmented.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { formatCost, formatCount, formatUsd, plural } from '../../ui/text/format.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { PlanWindows } from './PlanWindows.tsx'
import { Swatch, UsageChart, UsageTable } from './UsageChart.tsx'
import {
  type Amount,
  amountIn,
  type Measure,
  type Series,
  seriesOf,
  totalOf,
  type UsageBy,
} from './usage.logic.ts'
import '../page.css'
import './usage.css'

type Range = '1' | '7' | '30' | '90'

const RANGES: readonly Segment<Range>[] = [
  { value: '1', label: 'Today' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
]
const VIEWS: readonly Segment<UsageBy>[] = [
  { value: 'project', label: 'Project' },
  { value: 'agent', label: 'Agent' },
  { value: 'model', label: 'Model' },
  { value: 'persona', label: 'Persona' },
]
const MACHINE: Segment<UsageBy> = { value: 'machine', label: 'Machine' }
const MEASURES: readonly Segment<Measure>[] = [
  { value: 'cost', label: 'Cost' },
  { value: 'tokens', label: 'Tokens' },
]

/** Cost and tokens over time, what they were spent on, and how much of the plans is left. */
export default function UsagePage() {
  const [range, setRange] = useState<Range>('30')
  const { report, error } = useUsage(Number(range))
  return (
    <ScrollRegion className="page" label="Usage">
      <div className="page__column usage__page">
        <header className="page__head">
          <h1>Usage</h1>
          <span className="spacer" />
          <Segmented<Range> label="Time" value={range} segments={RANGES} onChange={setRange} />
          <span className="page__buttons">
            <Button
              size="small"
              disabled={!report}
              onClick={() => report && download('csv', 'text/csv', usageCsv(report))}
            >
              CSV
            </Button>
            <Button
              size="small"
              disabled={!report}
              onClick={() => report && download('json', 'application/json', JSON.stringify(report, null, 2))}
            >
              JSON
            </Button>
          </span>
        </header>
        {report ? (
          <Report report={report} />
        ) : error ? (
          <Empty title="Usage could not be read">{error.message}</Empty>
        ) : null}
      </div>
    </ScrollRegion>
  )
}

function Report({ report }: { report: UsageReport }) {
  const harnesses = useHarnesses()
  const agentName = (id: string) => harnesses.find(harness => harness.id === id)?.name ?? id
  const [by, setBy] = useState<UsageBy>('project')
  const [chosen, setMeasure] = useState<Measure | null>(null)
  const total = totalOf(report.rows)
  // Agents without prices still have tokens.
  const measure = chosen ?? (total.usd > 0 || total.tokens === 0 ? 'cost' : 'tokens')
  const series = seriesOf(report, by, measure, agentName)
  const { deleted } = report
  const away = totalOf(report.rows.filter(({ machine }) => machine !== undefined))
  const isFleet = away.usd > 0 || away.tokens > 0
  return (
    <>
      <p className="usage__total">
        <b>{formatCost(total.usd, total.isEstimate)}</b>
        <span>{`${formatCount(total.tokens)} tokens in ${plural(report.sessionCount, 'session')}`}</span>
        {total.unpricedTokens > 0 ? (
          <span>{`of which ${formatCount(total.unpricedTokens)} tokens have no known price`}</span>
        ) : null}
        {isFleet ? (
          <span>{`of which ${costOf(away)} and ${formatCount(away.tokens)} tokens on other machines, as they last told; budgets of a project count this machine only`}</span>
        ) : null}
        {deleted.sessions > 0 ? (
          <span>
            {`without ${plural(deleted.sessions, 'deleted session')} (${formatUsd(deleted.usd)}, ${formatCount(deleted.tokens)} tokens)`}
          </span>
        ) : null}
      </p>
      {total.tokens === 0 && total.usd === 0 ? (
        <Empty title="Nothing was spent in this time">
          Cost and tokens of every agent appear here, from the first turn on.
        </Empty>
      ) : (
        <>
          <section className="usage__card" aria-label="Over time">
            <div className="usage__bar-head">
              <Segmented<Measure> label="Measure" value={measure} segments={MEASURES} onChange={setMeasure} />
              <Segmented<UsageBy>
                label="Spend by"
                value={by}
                segments={isFleet ? [...VIEWS, MACHINE] : VIEWS}
                onChange={setBy}
              />
            </div>
            <UsageChart times={report.times} series={series} measure={measure} />
            <Breakdown series={series} measure={measure} />
            <UsageTable times={report.times} series={series} measure={measure} />
          </section>
          <TopSessions sessions={report.sessions} measure={measure} />
        </>
      )}
      {report.plans.length > 0 ? (
        <section className="usage__card" aria-label="Limits of your plans">
          <h2>Limits of your plans</h2>
          <PlanWindows plans={report.plans} agentName={agentName} />
        </section>
      ) : null}
    </>
  )
}

function Breakdown({ series, measure }: { series: readonly Series[]; measure: Measure }) {
  const most = Math.max(...series.map(one => amountIn(one, measure)), Number.MIN_VALUE)
  return (
    <ul className="usage__bars">
      {series.map((one, i) => (
        <li key={one.name} className="usage__bar">
          <span className="usage__name">
            <Swatch color={i} />
            <span className="truncate">{one.name}</span>
          </span>
          <svg width="100%" height="8" aria-hidden="true">
            <rect className="usage__track" width="100%" height="8" rx="4" />
            <rect
              className={`chart__bar--${i}`}
              width={`${(amountIn(one, measure) / most) * 100}%`}
              height="8"
              rx="4"
            />
          </svg>
          <span className="number">{costOf(one)}</span>
          <span className="number">{`${formatCount(one.tokens)} tokens`}</span>
        </li>
      ))}
    </ul>
  )
}

function TopSessions({ sessions, measure }: Pick<UsageReport, 'sessions'> & { measure: Measure }) {
  const top = [...sessions]
    .sort((a, b) => amountIn(b, measure) - amountIn(a, measure))
    .slice(0, SHOWN_SESSIONS)
  return (
    <section className="usage__card" aria-label="Sessions that took most">
      <h2>Sessions that took most</h2>
      <ul>
        {top.map(session => (
          <li key={session.sessionId}>
            <Link className="usage__row" to="/s/$sessionId" params={{ sessionId: session.sessionId }}>
              <span className="truncate">
                {`${session.title ?? 'Untitled session'}${session.machine ? ` on ${session.machine}` : ''}`}
              </span>
              <span className="spacer" />
              <span className="number">{`${formatCount(session.tokens)} tokens`}</span>
              <span className="number">{costOf(session)}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

const SHOWN_SESSIONS = 10

/** Nothing is said of a price that nobody knows. */
function costOf({ usd, isEstimate, unpricedTokens }: Amount): string {
  return usd === 0 && unpricedTokens > 0 ? 'no price' : formatCost(usd, isEstimate)
}

function download(ending: string, type: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = `usage.${ending}`
  link.click()
  URL.revokeObjectURL(link.href)
}
