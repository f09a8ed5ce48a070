import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { ensurePrivateDirectory, writeFileAtomic } from '@chirality/disk'

/**
 * Opened non-blocking and without following links: the file may have been replaced by a FIFO or by a link to an endless
 * file.
 */
export async function readStateFile(file: string | Buffer, maxBytes = MAX_BYTES): Promise<Buffer> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    const stats = await handle.stat()
    if (!stats.isFile() || stats.size > maxBytes) throw new Error(`${file} is not a file of ours.`)
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}

export async function writeStateFile(file: string, text: string): Promise<void> {
  await ensurePrivateDirectory(path.dirname(file))
  await writeFileAtomic(file, text, { survives: 'kill' })
}

const MAX_BYTES = 64 * 1024 * 1024
