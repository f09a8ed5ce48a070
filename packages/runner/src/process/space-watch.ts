import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

export interface SpaceWatchOptions {
  /** A file on the file system in question. */
  path: string
  minFreeBytes?: number
  onFull(reason: string): void
}

/**
 * Looks at the space on the disk that an agent prints to. When it is full the agent's own write fails, and nobody hears of it: the
 * text is missing, and so may be the line that ends the turn. Returns what ends the watch.
 */
export function watchSpace({ path, minFreeBytes = MIN_FREE_BYTES, onFull }: SpaceWatchOptions): () => void {
  const timer = setInterval(async () => {
    const freeBytes = await freeSpace(dirname(path))
    if (freeBytes === undefined || freeBytes >= minFreeBytes || isOver) return
    end()
    onFull(
      `The disk of ${dirname(path)} is full, so what the agent prints could be lost. It was stopped. Make room, then send the message again.`,
    )
  }, LOOK_EVERY_MS)
  timer.unref()
  let isOver = false
  const end = () => {
    isOver = true
    clearInterval(timer)
  }
  return end
}

/** Less than what one look may miss. */
const MIN_FREE_BYTES = 1024 * 1024
/** One system call each; a disk that fills faster than this between two looks is seen full by the second. */
const LOOK_EVERY_MS = 250

/** Undefined where the file system does not say, and when the folder is not there. */
async function freeSpace(folder: string): Promise<number | undefined> {
  try {
    const { blocks, bfree, bavail, bsize } = await statfs(folder)
    if (blocks === 0) return undefined
    return (process.getuid?.() === 0 ? bfree : bavail) * bsize
  } catch {
    return undefined
  }
}
