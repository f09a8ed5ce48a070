import type { CallInputs } from '@chirality/client'
import { formatDuration, verdictsText } from '@chirality/core'
import type { LoopSummary } from '../../state/server/answers.ts'
import { Field } from '../../ui/controls/Field.tsx'
import type { DotTone } from '../../ui/marks/Dot.tsx'
import { Meter } from '../../ui/marks/Meter.tsx'
import { formatCost, formatUsd } from '../../ui/text/format.ts'
import { agentNames, HAND_OVER } from './agent-names.ts'

type LoopLimits = NonNullable<CallInputs['loops']['start']['limits']>

/** The name of its file. */
export function listName({ list }: Pick<LoopSummary, 'list'>): string {
  return list.split('/').at(-1) ?? list
}

export function countsText({ counts }: Pick<LoopSummary, 'counts'>): string {
  return `${verdictsText(counts)} · ${counts.working + counts.toGo} to go`
}

export function stateWords({ runs, end, waitsUntil }: LoopSummary, now = Date.now()): string {
  const left = waitsUntil === null ? 0 : Date.parse(waitsUntil) - now
  if (waitsUntil !== null && left > 0)
    return `waits for a limit of the plan, ${formatDuration(left)} left, until ${new Date(waitsUntil).toLocaleTimeString()}`
  if (runs === 'here') return 'runs'
  if (runs === 'elsewhere') return 'runs in a terminal'
  return end?.why ?? 'was cut off'
}

export function loopTone({ runs, counts, end, warnings }: LoopSummary): DotTone {
  if (warnings.length > 0) return 'bad'
  if (counts.parked > 0) return 'need'
  if (runs !== 'no') return 'work'
  if (counts.failed > 0 || end?.reason === 'failed') return 'bad'
  if (end?.reason !== 'done') return 'quiet'
  return counts.look + counts.noCheck > 0 ? 'need' : 'ok'
}

/** Each limit with what is used of it. */
export function Used({ loop: { spent, limits, iterations, startedAt, end } }: { loop: LoopSummary }) {
  const minutes = (Date.parse(end?.at ?? new Date().toISOString()) - Date.parse(startedAt)) / 60_000
  const rows = [
    {
      label: 'Money',
      value: spent.usd ?? 0,
      max: limits.budgetUsd,
      text: spent.usd === null ? 'not known' : formatCost(spent.usd, spent.isEstimate),
      of: limits.budgetUsd === null ? null : formatUsd(limits.budgetUsd),
    },
    { label: 'Turns', value: iterations, max: limits.maxIterations, text: `${iterations}`, of: null },
    {
      label: 'Time',
      value: minutes,
      max: limits.maxMinutes,
      of: null,
      text: `${formatDuration(minutes * 60_000)}${end === null && limits.until !== null ? `, until ${new Date(limits.until).toLocaleTimeString([], { timeStyle: 'short' })}` : ''}`,
    },
  ]
  return (
    <dl className="loops__used">
      {rows.map(({ label, value, max, text, of }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd className="number">
            {max === null ? text : `${text} of ${of ?? `${max}${label === 'Time' ? ' min' : ''}`}`}
            {max === null ? null : <Meter label={`${label} used`} value={value} max={max} />}
          </dd>
        </div>
      ))}
    </dl>
  )
}

const FIELDS = [
  { name: 'budgetUsd', label: 'Budget in dollars', hint: 'Empty: no limit.' },
  { name: 'maxIterations', label: 'Turns of agents', hint: 'In all. Empty: no limit.' },
  { name: 'maxMinutes', label: 'Minutes', hint: 'Since it was started. Empty: no limit.' },
  { name: 'parallel', label: 'Tasks at once', hint: '1 to 16.' },
  {
    name: 'waitForLimits',
    label: 'Waits for the plan',
    hint: 'How often it may wait until a limit of the plan is reset. 0: it ends.',
  },
] as const

export type TypedLimits = Partial<Record<(typeof FIELDS)[number]['name'] | 'handOver', string>>

interface LimitFieldsProps {
  typed: TypedLimits
  now?: Pick<LoopSummary['limits'], (typeof FIELDS)[number]['name'] | 'handOver' | 'nextHarnesses'>
  onChange(typed: TypedLimits): void
}

export function LimitFields({ typed, now, onChange }: LimitFieldsProps) {
  return (
    <div className="loops__limits">
      {FIELDS.map(({ name, label, hint }) => (
        <Field key={name} label={label} hint={hint}>
          {id => (
            <input
              id={id}
              className="input"
              inputMode="decimal"
              value={typed[name] ?? now?.[name]?.toString() ?? ''}
              onChange={event => onChange({ ...typed, [name]: event.target.value })}
            />
          )}
        </Field>
      ))}
      <Field
        label={HAND_OVER}
        hint="Ids of agents that go on at a limit of the plan, in order, with commas between. Empty: nobody."
      >
        {id => (
          <input
            id={id}
            className="input"
            value={typed.handOver ?? (now?.handOver ? now.nextHarnesses.join(', ') : '')}
            placeholder={now?.handOver ? 'those of the persona' : 'nobody'}
            onChange={event => onChange({ ...typed, handOver: event.target.value })}
          />
        )}
      </Field>
    </div>
  )
}

/** What was typed, or what is wrong with it. An emptied field takes a limit away. */
export function limitsFrom(typed: TypedLimits): LoopLimits | string {
  const limits: LoopLimits = {}
  for (const { name, label } of FIELDS) {
    const text = typed[name]?.trim()
    if (text === undefined) continue
    const value = Number(text)
    const isWhole = name !== 'budgetUsd' && name !== 'maxMinutes'
    if (name === 'waitForLimits') {
      if (!Number.isInteger(value) || value < 0 || value > 50)
        return `"${label}" must be a whole number from 0 to 50.`
      limits.waitForLimits = value
    } else if (text === '' && name !== 'parallel') limits[name] = null
    else if (!(value > 0) || (isWhole && !Number.isInteger(value)) || (name === 'parallel' && value > 16))
      return `"${label}" must be a ${isWhole ? 'whole ' : ''}number above 0${name === 'parallel' ? ', at most 16' : ''}.`
    else limits[name] = value
  }
  if (typed.handOver === undefined) return limits
  const names = agentNames(typed.handOver)
  if (typeof names === 'string') return names
  return { ...limits, handOver: names.length > 0, ...(names.length > 0 ? { nextHarnesses: names } : {}) }
}
