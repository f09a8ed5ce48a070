import { stat } from 'node:fs/promises'
import { HarnessError, type HarnessId } from '@chirality/core'

/** The CLI would start in no folder at all, or take a missing extra one in silence. */
export async function checkDirectory(what: string, directory: string, harnessId: HarnessId): Promise<void> {
  const info = await stat(directory).catch(() => null)
  if (info?.isDirectory()) return
  const fault = info ? 'is not a folder' : 'does not exist'
  throw new HarnessError(`${what} ${directory} ${fault}. Name an existing one.`, 'invalid_query', harnessId)
}
