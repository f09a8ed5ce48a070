import { lstat, rm, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { readCarefully } from '@chirality/disk'

/**
 * Which of these files are read between the call and that of the result. A file system notes the time of a read if it is
 * not later than the last change, so that time is set back first. Null where it notes none (`noatime`).
 */
export async function watchReads(
  folder: string,
  files: readonly string[],
): Promise<() => Promise<string[] | null>> {
  const isNoted = await notesReads(folder)
  const watched: string[] = []
  for (const file of isNoted ? files : []) if (await setBack(path.join(folder, file))) watched.push(file)
  return async () => {
    if (!isNoted) return null
    const read: string[] = []
    for (const file of watched) {
      const facts = await lstat(path.join(folder, file)).catch(() => undefined)
      // One that is gone, or another one by now, was in the hands of the check.
      if (facts === undefined || facts.atimeMs > 0) read.push(file)
    }
    return read
  }
}

async function notesReads(folder: string): Promise<boolean> {
  const name = `.chirality-probe-${process.pid}`
  const probe = path.join(folder, name)
  try {
    await writeFile(probe, 'x', { flag: 'wx' })
    await setBack(probe)
    await readCarefully({ root: folder, path: name, links: 'none', maxBytes: 1 })
    return (await lstat(probe)).atimeMs > 0
  } catch {
    return false
  } finally {
    await rm(probe, { force: true }).catch(() => {})
  }
}

/** False for what is no regular file: the time of a link says nothing of what it leads to. */
async function setBack(file: string): Promise<boolean> {
  const facts = await lstat(file).catch(() => undefined)
  if (!facts?.isFile()) return false
  await utimes(file, 0, facts.mtimeMs / 1000)
  return true
}
