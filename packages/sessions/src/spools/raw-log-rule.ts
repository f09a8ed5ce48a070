import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  ensurePrivateDirectory,
  readSmallFile,
  realFileOps,
  withStorageErrors,
  writeFileAtomic,
} from '@chirality/disk'
import { userDataFolder } from '../files/user-data-folder.ts'
import { parseObject } from '../store/stored-session.ts'

/** How long raw logs are kept: all, those of the last days, or the newest up to a size in the projects together. */
export type RawLogRule =
  | { keep: 'forever' }
  | { keep: 'days'; days: number }
  | { keep: 'size'; bytes: number }

/** `raw-logs.json` in the user's data folder. A missing file or one that is not valid keeps everything. */
export function readRawLogRule(home: string = userDataFolder()): RawLogRule {
  try {
    const text = readSmallFile(realFileOps, join(home, NAME), MAX_BYTES)?.toString('utf8') ?? ''
    return ruleOf(parseObject(text) ?? {})
  } catch {
    return { keep: 'forever' }
  }
}

function ruleOf({ keep, days, bytes }: Record<string, unknown>): RawLogRule {
  if (keep === 'days' && isLimit(days)) return { keep, days }
  if (keep === 'size' && isLimit(bytes)) return { keep, bytes }
  return { keep: 'forever' }
}

function isLimit(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}

export function writeRawLogRule(rule: RawLogRule, home: string = userDataFolder()): Promise<void> {
  const path = join(home, NAME)
  return withStorageErrors(path, async () => {
    await mkdir(dirname(home), { recursive: true })
    await ensurePrivateDirectory(home)
    await writeFileAtomic(path, `${JSON.stringify(rule)}\n`, { ops: realFileOps })
  })
}

const NAME = 'raw-logs.json'
const MAX_BYTES = 4096
