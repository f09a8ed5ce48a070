import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { readStart } from './read-file.ts'

/**
 * A small file that we keep in a project. An agent, or whoever made the repository, may have put something else in its place: a
 * link to what has no end, or a pipe that nobody writes to. Throws when it is not an ordinary file, or too large to be ours.
 */
export async function readOwnFile(file: string): Promise<string> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    const stats = await handle.stat()
    if (!stats.isFile() || stats.size > MAX_BYTES) throw new Error(`${file} is not a file of ours.`)
    return (await readStart(handle, stats.size)).toString('utf8')
  } finally {
    await handle.close()
  }
}

const MAX_BYTES = 4 * 1024 * 1024
