import { stat } from 'node:fs/promises'
import { CageError } from '@chirality/cage'
import { HarnessError, type HarnessErrorCode, type HarnessId } from '@chirality/core'
import { StorageError } from '@chirality/disk'
import { SpawnError, type SpawnErrorCode } from '../process/program/spawn-error.ts'
import type { AgentName } from './turn-program.ts'

/** Any error that kept a turn from starting, as a HarnessError. */
export function startFailure(error: unknown, { harnessId, name }: AgentName): HarnessError {
  if (error instanceof HarnessError) return error
  if (error instanceof CageError) return new HarnessError(error.message, 'unsupported', harnessId, error)
  if (error instanceof StorageError) return new HarnessError(error.message, 'invalid_query', harnessId, error)
  if (error instanceof SpawnError)
    return new HarnessError(error.message, SPAWN_CODES[error.code], harnessId, error)
  const message = error instanceof Error ? error.message : String(error)
  return new HarnessError(`${name} could not be started: ${message}`, 'unknown', harnessId, error)
}

const SPAWN_CODES: Record<SpawnErrorCode, HarnessErrorCode> = {
  'command-missing': 'not_installed',
  'command-not-executable': 'not_installed',
  'cwd-missing': 'invalid_query',
  'arguments-too-long': 'invalid_query',
  'invalid-argument': 'invalid_query',
  'too-many-files': 'process_crashed',
  'out-of-resources': 'process_crashed',
  unknown: 'process_crashed',
}

/**
 * Without this check a missing working folder would fail the spawn, and the CLI would silently ignore a missing extra
 * folder.
 */
export async function checkDirectory(what: string, directory: string, harnessId: HarnessId): Promise<void> {
  const info = await stat(directory).catch(() => null)
  if (info?.isDirectory()) return
  const fault = info ? 'is not a folder' : 'does not exist'
  throw new HarnessError(`${what} ${directory} ${fault}. Name an existing one.`, 'invalid_query', harnessId)
}
