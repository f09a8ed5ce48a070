import { type CommandOptions, type CommandResult, runCommand } from '@chirality/runner'

export { endMarked } from '@chirality/runner'

export type CheckResult = CommandResult

/** Runs one check. No process that it started is left afterwards. */
export const runCheck = runCommand

/** A set-up command or check that is running. */
export interface RunningCommand {
  command: string
  since: string
  /** The start and the end of its output so far. */
  output(): string
}

/** Runs a check and lists it in `running` under this id meanwhile. */
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

/** Record of a check in the journal and in receipts, with only the end of its output. */
export interface CheckRecord extends Omit<CheckResult, 'output'> {
  tail: string
}

export function hasPassed({ exitCode }: Pick<CheckResult, 'exitCode'>): boolean {
  return exitCode === 0
}

/** Description of a failed check for the agent. */
export function failureOf({ command, exitCode, stopped, output }: CheckResult): string {
  return `\`${command}\` ${stopped ?? `exits with ${exitCode}`}.\n${output}`.trim()
}

export function checkRecordOf({ output, ...result }: CheckResult): CheckRecord {
  return { ...result, tail: output.slice(-MAX_TAIL) }
}

const MAX_TAIL = 2_000
