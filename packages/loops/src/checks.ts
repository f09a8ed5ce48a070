import { type CommandResult, runCommand } from '@chirality/runner'

export { endMarked } from '@chirality/runner'

export type CheckResult = CommandResult

/** Runs one check. Nothing that it started runs any more afterwards. */
export const runCheck = runCommand

/** What is kept of a check in the journal and in receipts: the output is only its end. */
export interface CheckRecord extends Omit<CheckResult, 'output'> {
  tail: string
}

export function hasPassed({ exitCode }: Pick<CheckResult, 'exitCode'>): boolean {
  return exitCode === 0
}

/** What the agent is told of a check that failed. */
export function failureOf({ command, exitCode, stopped, output }: CheckResult): string {
  return `\`${command}\` ${stopped ?? `exits with ${exitCode}`}.\n${output}`.trim()
}

export function recordOf({ output, ...result }: CheckResult): CheckRecord {
  return { ...result, tail: output.slice(-MAX_TAIL) }
}

const MAX_TAIL = 2_000
