import { BEHAVIOURS, type BehaviourId } from './behaviours.ts'
import { seconds } from './seconds.ts'

/**
 * `supported`: it does so, and Chirality shows it. `differs`: it does something else. `missing`: it does not, though it should.
 * `not-offered`: neither it nor Chirality says that it can.
 */
export type Outcome = 'supported' | 'differs' | 'missing' | 'not-offered'

export interface Finding {
  behaviour: BehaviourId
  outcome: Outcome
  /** One line. */
  evidence: string
  /**
   * How long the conversation took that showed it. Where several behaviours show in one conversation, only the first of them
   * has it, so that the sum is what the run took. Reports of earlier releases have none.
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
  /** Why nothing was tried: not installed, or a release that Chirality refuses. */
  refused?: string
  findings: Finding[]
}

/** One word for the whole: `works` if nothing differs, `fails` if it does not even answer. */
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

/** A table for a terminal, without colours. */
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
