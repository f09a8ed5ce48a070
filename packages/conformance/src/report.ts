import { BEHAVIOURS, type BehaviourId } from './behaviours.ts'

/**
 * `supported`: the agent does it, and Chirality shows it. `differs`: it behaves differently. `missing`: it should, and
 * does not. `not-offered`: neither the agent nor Chirality claims it.
 */
export type Outcome = 'supported' | 'differs' | 'missing' | 'not-offered'

export interface Finding {
  behaviour: BehaviourId
  outcome: Outcome
  /** One line of text. */
  evidence: string
  /**
   * Duration of the conversation. If several behaviours share one conversation, only the first has it, so that the sum
   * equals the run. Missing in reports of earlier releases.
   */
  durationMs?: number | undefined
}

export interface ConformanceReport {
  harness: string
  name: string
  version?: string
  /** ISO 8601. */
  at: string
  durationMs: number
  /** Why nothing was tried: the agent is missing, or Chirality refuses its release. */
  refused?: string
  findings: Finding[]
}

/** Verdict on the whole report: `works` without differences, `fails` without any answer. */
export function verdictOf({
  refused,
  findings,
}: ConformanceReport): 'works' | 'partly' | 'fails' | 'refused' {
  if (refused !== undefined) return 'refused'
  const worked = (outcome: Outcome) => outcome === 'supported' || outcome === 'not-offered'
  if (findings.every(({ outcome }) => worked(outcome))) return 'works'
  const text = findings.find(({ behaviour }) => behaviour === 'text')
  return text === undefined || text.outcome === 'missing' ? 'fails' : 'partly'
}

/** Formats the report as a table for a terminal, without colours. */
export function reportTable(report: ConformanceReport): string {
  const head = [report.name, report.version].filter(Boolean).join(' ')
  if (report.refused !== undefined) return `${head}: refused. ${report.refused}\n`
  const verdict = verdictOf(report)
  if (verdict === 'fails') {
    const text = report.findings.find(({ behaviour }) => behaviour === 'text')
    return `${head}: does not answer. ${text?.evidence ?? ''}\nNothing else was tried.\n`
  }
  const lines = report.findings.map(({ behaviour, outcome, evidence, durationMs }) => {
    const took = durationMs === undefined ? '' : seconds(durationMs)
    const columns = [behaviour.padEnd(WIDTH), OUTCOMES[outcome].padEnd(11), took.padStart(7), evidence]
    return `${MARKS[outcome]} ${columns.join(' ')}`.trimEnd()
  })
  const summary = verdict === 'works' ? 'works' : 'works with differences'
  return `${head}: ${summary}, ${seconds(report.durationMs)}\n${lines.join('\n')}\n`
}

const WIDTH = Math.max(...Object.keys(BEHAVIOURS).map(id => id.length))
const MARKS: Record<Outcome, string> = { supported: '✓', differs: '~', missing: '✗', 'not-offered': '-' }
export const OUTCOMES: Record<Outcome, string> = {
  supported: 'supported',
  differs: 'differs',
  missing: 'missing',
  'not-offered': 'not offered',
}

/** A duration as text. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
