import type { CommandOptions } from '@chirality/runner'
import { type CheckResult, type RunningCommand, runShown } from '../checks.ts'
import { countTests } from './runners/count-tests.ts'
import type { CheckCount } from './verdict.ts'

/** Result of one run of a check, with its count. */
export interface CheckRun extends CheckCount {
  result: CheckResult
}

/** Runs a check once. What it tested is read from the report of its runner. */
export async function runCounted(
  check: string,
  options: CommandOptions,
  shown: { id: string; running: Map<string, RunningCommand> },
): Promise<CheckRun> {
  const counted = await countTests({
    check,
    folder: options.cwd,
    env: options.env,
    run: (command, { env, onOutput }) =>
      runShown(command, { ...options, env: { ...options.env, ...env }, onOutput }, shown),
  })
  // It may have been run with the runner's report switched on.
  const result = { ...counted.result, command: check }
  if (counted.kind === 'counted') {
    const { runner, counts, failing } = counted
    return { result, counted: { runner, counts, failing: failing.slice(0, MAX_NAMES) } }
  }
  return { result, counted: null, ...(counted.runner === null ? {} : { uncounted: counted.why }) }
}

const MAX_NAMES = 200
