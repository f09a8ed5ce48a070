import type { CheckResult } from '../../checks.ts'
import type { TestCounts } from '../verdict.ts'

export type RunnerName =
  | 'vitest'
  | 'jest'
  | 'ava'
  | 'mocha'
  | 'node:test'
  | 'playwright'
  | 'tap'
  | 'uvu'
  | 'pytest'
  | 'unittest'
  | 'go test'
  | 'cargo test'
  | 'junit'

/** Runs the check: `runCheck` with these options, and with the caller's own folder, marker and limits. */
export type RunCheck = (
  command: string,
  options: {
    /** Over the filtered environment: it makes runners write their report. */
    env: Record<string, string>
    /** Gets all that it prints. */
    onOutput: (chunk: Buffer) => void
  },
) => Promise<CheckResult>

export interface CountOptions {
  check: string
  /** The folder that the check runs in. */
  folder: string
  run: RunCheck
  /** Variables that the caller sets for the check, over the filtered environment. */
  env?: Record<string, string> | undefined
}

/** The check itself ran once: `result` is what it did. */
export type Counted =
  | {
      kind: 'counted'
      /** Name of the runner, or several names with commas. */
      runner: string
      counts: TestCounts
      /** The names of the failed tests, sorted. */
      failing: string[]
      result: CheckResult
    }
  | {
      kind: 'unreadable'
      /** Null if nothing says that the check runs tests. */
      runner: string | null
      /** Reason for people why there is no count. */
      why: string
      result: CheckResult
    }
