import { join } from 'node:path'
import { PRICES, type PriceTable, parsePrices } from '@chirality/core'
import { type FileOps, readSmallFile, realFileOps, StorageError, toStorageError } from '@chirality/disk'
import { userDataFolder } from '../files/user-data-folder.ts'

/** The list prices, overridden by `prices.json` in the user's data folder. Throws when the file is invalid. */
export function readPrices(home: string = userDataFolder(), ops: FileOps = realFileOps): PriceTable {
  const path = join(home, 'prices.json')
  let text: string | undefined
  try {
    text = ops.lstat(path) === undefined ? undefined : readSmallFile(ops, path, MAX_BYTES)?.toString('utf8')
  } catch (error) {
    // The code that creates the data folder reports that it is not a folder.
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return PRICES
    throw toStorageError(error, path)
  }
  if (text === undefined) return PRICES
  const parsed = parsePrices(text)
  if ('prices' in parsed) return parsed.prices
  throw new StorageError('io', path, `${path}: ${parsed.problem}.`)
}

const MAX_BYTES = 1024 * 1024
