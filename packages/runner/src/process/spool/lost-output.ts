import { fstatSync, readSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { SpoolReadEnd } from './spool-source.ts'

export interface LostOutputOptions {
  stdout: SpoolReadEnd
  minFreeBytes?: number
  tornMs?: number
  /** Called once, while the agent runs. */
  onLost(): void
}

export interface LostOutput {
  /** A text for the user. Null as long as no output seems to be lost. */
  readonly reason: string | null
  /** Has to be called when a torn line is found in the output. */
  onTorn(): void
  /** The agent has exited. */
  end(): void
}

/**
 * Detects lost output. An agent prints to a file; if its write fails (a full disk, a quota, a file size limit) only the
 * agent notices: the text is missing, and possibly the line that ends the turn. So this checks the free space, and
 * whether the file ends in the middle of a line, as it does after a failed write.
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

/** A file that has not grown for a while and does not end with a newline. Agents write each line in one call. */
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
/** Less than the amount that one check may miss. */
const MIN_FREE_BYTES = 1024 * 1024
/** Each check is a few system calls; a disk that fills up between two checks is found full by the second. */
const LOOK_EVERY_MS = 250
/**
 * A line of many megabytes is written in several pieces, and on a busy machine there can be a pause between two of
 * them.
 */
const TORN_MS = 10_000

/** False if the file system does not report it, or the folder does not exist. */
async function hasLittleSpace(folder: string, minFreeBytes = MIN_FREE_BYTES): Promise<boolean> {
  let free = looks.get(folder)
  if (free === undefined) {
    free = freeBytes(folder)
    looks.set(folder, free)
    setTimeout(() => looks.delete(folder), LOOK_EVERY_MS / 2).unref()
  }
  return (await free) < minFreeBytes
}

/** One check serves all agents that print to the same folder. */
const looks = new Map<string, Promise<number>>()

async function freeBytes(folder: string): Promise<number> {
  try {
    const { blocks, bfree, bavail, bsize } = await statfs(folder)
    return blocks > 0 ? (process.getuid?.() === 0 ? bfree : bavail) * bsize : Number.POSITIVE_INFINITY
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
