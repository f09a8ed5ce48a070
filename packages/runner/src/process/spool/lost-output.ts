import { fstatSync, readSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { SpoolReadEnd } from './spool-source.ts'

export interface LostOutputOptions {
  stdout: SpoolReadEnd
  minFreeBytes?: number
  tornMs?: number
  /** Told once, while the agent runs. */
  onLost(): void
}

export interface LostOutput {
  /** For a person. Null as long as nothing seems to be lost. */
  readonly reason: string | null
  /** To be called by whoever finds a torn line in the output. */
  onTorn(): void
  /** The agent is gone. */
  end(): void
}

/**
 * An agent prints into a file. When its write fails (a full disk, a quota, a limit on the size of files) only the agent knows: the
 * text is missing, and so may be the line that ends the turn. So the free space is looked at, and whether the file ends in the
 * middle of a line, which is what a failed write leaves behind.
 */
export function watchLostOutput({ stdout, onLost, ...limits }: LostOutputOptions): LostOutput {
  let reason: string | null = null
  let isOver = false
  const lose = (said: string) => {
    reason ??= said
    if (isOver) return
    end()
    onLost()
  }
  const tail = new TornTail(stdout.readFd, limits.tornMs)
  const timer = setInterval(async () => {
    if (tail.isTorn()) return lose(torn(stdout.path))
    const isFull = await hasLittleSpace(dirname(stdout.path), limits.minFreeBytes)
    if (isFull && !isOver) lose(full(stdout.path))
  }, LOOK_EVERY_MS)
  timer.unref()
  const end = () => {
    isOver = true
    clearInterval(timer)
  }
  return {
    get reason() {
      return reason
    },
    onTorn: () => lose(torn(stdout.path)),
    end,
  }
}

function torn(path: string): string {
  return `Its output breaks off in the middle of a line, as when a disk is full, a quota is used up or a file may not grow (${path}). What it printed from there on is missing. Make room, then send the message again.`
}

function full(path: string): string {
  return `It was stopped because the disk of ${dirname(path)} is full. What it printed from then on is missing. Make room, then send the message again.`
}

/** A file that has not grown for a while and does not end with a newline. Agents write a line at once. */
class TornTail {
  readonly #fd: number
  readonly #patienceMs: number
  #size = 0
  #since = performance.now()

  constructor(fd: number, patienceMs = TORN_MS) {
    this.#fd = fd
    this.#patienceMs = patienceMs
  }

  isTorn(): boolean {
    const { size } = fstatSync(this.#fd)
    const now = performance.now()
    if (size !== this.#size) this.#since = now
    this.#size = size
    if (size === 0 || now - this.#since < this.#patienceMs) return false
    const last = Buffer.alloc(1)
    return readSync(this.#fd, last, 0, 1, size - 1) === 1 && last[0] !== NEWLINE
  }
}

const NEWLINE = 0x0a
/** Less than what one look may miss. */
const MIN_FREE_BYTES = 1024 * 1024
/** A few system calls each; a disk that fills faster than this between two looks is seen full by the second. */
const LOOK_EVERY_MS = 250
/** A line of many megabytes is written in several pieces, and a busy machine lets the writer wait between two of them. */
const TORN_MS = 10_000

/** False where the file system does not say, and when the folder is not there. */
async function hasLittleSpace(folder: string, minFreeBytes = MIN_FREE_BYTES): Promise<boolean> {
  try {
    const { blocks, bfree, bavail, bsize } = await statfs(folder)
    return blocks > 0 && (process.getuid?.() === 0 ? bfree : bavail) * bsize < minFreeBytes
  } catch {
    return false
  }
}
