import { projectName } from '../../app/project.ts'
import type { UsageReport } from '../../state/server/answers.ts'

export type UsageBy = 'project' | 'agent' | 'model' | 'persona' | 'machine'
export type Measure = 'cost' | 'tokens'
type Row = UsageReport['rows'][number]

export interface Amount {
  usd: number
  isEstimate: boolean
  tokens: number
  unpricedTokens: number
}

/** One colour of the chart, and one line of the table: what was spent on one project, agent, model or persona. */
export interface Series extends Amount {
  name: string
  /** For each of the report's times. */
  values: number[]
  /** For each of them whether its cost is an estimate. */
  estimates: boolean[]
}

/** The most expensive first. With more than five, the smaller ones are one series. */
export function seriesOf(
  { rows, times }: Pick<UsageReport, 'rows' | 'times'>,
  by: UsageBy,
  measure: Measure,
  agentName: (id: string) => string,
): Series[] {
  const indexes = new Map(times.map((time, i) => [time, i]))
  const all = new Map<string, Series>()
  for (const row of rows) {
    const name = nameOf(row, by, agentName)
    const series = all.get(name) ?? {
      name,
      values: times.map(() => 0),
      estimates: times.map(() => false),
      ...NOTHING,
    }
    const index = indexes.get(row.time) ?? 0
    series.values[index] = (series.values[index] ?? 0) + amountIn(row, measure)
    series.estimates[index] ||= row.isEstimate
    all.set(name, { ...series, ...sum(series, row) })
  }
  const sorted = [...all.values()].sort((a, b) => amountIn(b, measure) - amountIn(a, measure))
  if (sorted.length <= MAX_SERIES) return sorted
  const rest = sorted.slice(MAX_SERIES - 1)
  return [...sorted.slice(0, MAX_SERIES - 1), rest.reduce(joined)].map((series, i) =>
    i === MAX_SERIES - 1 ? { ...series, name: `${rest.length} others` } : series,
  )
}

/** Number of colours. */
const MAX_SERIES = 5
const NOTHING: Amount = { usd: 0, isEstimate: false, tokens: 0, unpricedTokens: 0 }

export function totalOf(amounts: readonly Amount[]): Amount {
  return amounts.reduce(sum, NOTHING)
}

export function amountIn({ usd, tokens }: Pick<Amount, 'usd' | 'tokens'>, measure: Measure): number {
  return measure === 'cost' ? usd : tokens
}

/** Sum of all series at one of the times. */
export function totalAt(series: readonly Series[], i: number): { value: number; isEstimate: boolean } {
  return {
    value: series.reduce((total, { values }) => total + (values[i] ?? 0), 0),
    isEstimate: series.some(({ estimates }) => estimates[i]),
  }
}

function sum(a: Amount, b: Amount): Amount {
  return {
    usd: a.usd + b.usd,
    isEstimate: a.isEstimate || b.isEstimate,
    tokens: a.tokens + b.tokens,
    unpricedTokens: a.unpricedTokens + b.unpricedTokens,
  }
}

function joined(a: Series, b: Series): Series {
  return {
    name: a.name,
    values: a.values.map((value, i) => value + (b.values[i] ?? 0)),
    estimates: a.estimates.map((isEstimate, i) => isEstimate || b.estimates[i] === true),
    ...sum(a, b),
  }
}

function nameOf(
  { projectRoot, harness, model, persona, machine }: Row,
  by: UsageBy,
  agentName: (id: string) => string,
) {
  switch (by) {
    case 'project':
      return projectName(projectRoot)
    case 'agent':
      return harness === null ? 'default agent' : agentName(harness)
    case 'model':
      return model ?? 'default model'
    case 'persona':
      return persona ?? 'no persona'
    case 'machine':
      return machine ?? 'this machine'
  }
}

/** The top of the scale: 1, 2 or 5 times a power of ten, so that its fifths are readable. */
export function scaleTop(most: number): number {
  if (most <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(most))
  return ([1, 2, 5].find(factor => factor * power >= most) ?? 10) * power
}

/** `9 Nov`, or `09:00`; long: `Monday, 9 November`. */
export function timeText(time: string, length: 'short' | 'long' = 'short'): string {
  const [day = '', hour] = time.split('T')
  if (hour !== undefined) return `${hour}:00`
  const date = new Date(`${day}T00:00:00Z`)
  const long = { weekday: 'long', day: 'numeric', month: 'long' } as const
  const format = length === 'long' ? long : ({ day: 'numeric', month: 'short' } as const)
  return date.toLocaleDateString('en-GB', { ...format, timeZone: 'UTC' })
}
