import { stat } from 'node:fs/promises'
import { HarnessError } from '@chirality/core'
import { HARNESS_ID } from './config.ts'

/** The CLI would start in no folder at all, or take a missing extra one in silence. */
export async function checkDirectory(what: string, directory: string): Promise<void> {
  const info = await stat(directory).catch(() => null)
  if (info?.isDirectory()) return
  const fault = info ? 'is not a folder' : 'does not exist'
  throw new HarnessError(`${what} ${directory} ${fault}. Name an existing one.`, 'invalid_query', HARNESS_ID)
}
