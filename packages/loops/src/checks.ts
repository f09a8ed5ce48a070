import { type CommandOptions, type CommandResult, runCommand } from '@chirality/runner'

export { endMarked } from '@chirality/runner'

export type CheckResult = CommandResult

/** Runs one check. Nothing that it started runs any more afterwards. */
export const runCheck = runCommand

/** A set-up command or a check that runs now. */
export interface RunningCommand {
  command: string
  since: string
  /** The beginning and the end of what it has printed. */
  output(): string
}

/** The same, and `running` has it under this id meanwhile. */
export async function runShown(
  command: string,
  options: CommandOptions,
  { id, running }: { id: string; running: Map<string, RunningCommand> },
): Promise<CheckResult> {
  const since = new Date().toISOString()
  const onStart = (output: () => string) => running.set(id, { command, since, output })
  try {
    return await runCheck(command, { ...options, onStart })
  } finally {
    running.delete(id)
  }
}

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
