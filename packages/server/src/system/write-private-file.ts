import { link, mkdir, open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { errnoOf } from '@chirality/runner'
import { temporaryName } from '@chirality/sessions'

/** Replaces a file as a whole, for its owner only. A link in its place is replaced, not followed. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  await withTemporary(file, text, temporary => rename(temporary, file))
}

/** The same where there is none yet; false when there is. */
export function createPrivateFile(file: string, text: string): Promise<boolean> {
  return withTemporary(file, text, async temporary => {
    try {
      await link(temporary, file)
      return true
    } catch (error) {
      if (errnoOf(error) === 'EEXIST') return false
      if (!NO_HARD_LINKS.has(errnoOf(error) ?? '')) throw error
      await rename(temporary, file)
      return true
    }
  })
}

const NO_HARD_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

async function withTemporary<T>(
  file: string,
  text: string,
  use: (temporary: string) => Promise<T>,
): Promise<T> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  const temporary = temporaryName(file)
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    return await use(temporary)
  } finally {
    await rm(temporary, { force: true })
  }
}
