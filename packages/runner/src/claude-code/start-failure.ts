import { HarnessError } from '@chirality/core'
import { SpawnError } from '../process/spawn-error.ts'
import { SpoolError } from '../process/spool-error.ts'
import { HARNESS_ID } from './config.ts'

/** Whatever kept a turn from starting, as the one error that callers know. */
export function startFailure(error: unknown): HarnessError {
  if (error instanceof HarnessError) return error
  if (error instanceof SpoolError) return new HarnessError(error.message, 'invalid_query', HARNESS_ID, error)
  if (error instanceof SpawnError) {
    const code =
      error.code === 'command-missing' || error.code === 'command-not-executable'
        ? 'not_installed'
        : 'process_crashed'
    return new HarnessError(error.message, code, HARNESS_ID, error)
  }
  const message = error instanceof Error ? error.message : String(error)
  return new HarnessError(`Claude Code could not be started: ${message}`, 'unknown', HARNESS_ID, error)
}
