import type { RunnerName } from './counted.ts'

export type Outcome = 'passed' | 'failed' | 'skipped' | 'todo' | 'failing-by-design'

export interface TestCase {
  /** Empty if the report has only numbers. */
  name: string
  /** Path from the runner: absolute, or relative to its folder. */
  file?: string | undefined
  outcome: Outcome
}

/** Report of one run of a runner. */
export interface Report {
  runner: RunnerName
  cases: TestCase[]
  /** Test files of which it has no test. */
  files?: string[]
}

export function times(count: number, outcome: Outcome): TestCase[] {
  return Array.from({ length: Math.max(0, count) }, () => ({ name: '', outcome }))
}

/** Lines of JSON; what is not JSON is left out, as tests may print between them. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text.split('\n').flatMap(line => {
    const value = line.startsWith('{') ? parsed(line) : undefined
    return isRecord(value) ? [value] : []
  })
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function records(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
