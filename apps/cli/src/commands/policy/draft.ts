import { stat } from 'node:fs/promises'
import path from 'node:path'
import { UsageError } from '../../usage-error.ts'

/** The file that --policy names. One that is not there is most often a typing error. */
export async function readDraft(given: string | undefined): Promise<string | undefined> {
  if (given === undefined) return undefined
  const file = path.resolve(given)
  const info = await stat(file).catch(() => null)
  if (info?.isFile()) return file
  throw new UsageError(`The policy ${file} ${info ? 'is not a file' : 'does not exist'}.`)
}
