import type { BigIntStats } from 'node:fs'

/** What was read from paths, each until its stat shows a change. */
export class UnchangedReads<T> {
  readonly #reads = new Map<string, { stats: BigIntStats; value: T }>()
  readonly #sizeOf: (value: T) => number
  #bytes = 0

  constructor(sizeOf: (value: T) => number) {
    this.#sizeOf = sizeOf
  }

  get(file: string, now: BigIntStats): T | undefined {
    const read = this.#reads.get(file)
    return read && isSame(read.stats, now) ? read.value : undefined
  }

  /**
   * `stats` are from before the read. A file that was changed shortly before is not kept: a second change within the
   * same tick of the file system's clock would leave its stat as it is.
   */
  keep(file: string, stats: BigIntStats, value: T): T {
    if (Date.now() - Number(stats.ctimeMs) < SETTLED_MS) return value
    if (this.#bytes > MAX_BYTES) this.#clear()
    this.#bytes += this.#sizeOf(value) + file.length
    this.#reads.set(file, { stats, value })
    return value
  }

  #clear(): void {
    this.#reads.clear()
    this.#bytes = 0
  }
}

/** Above the coarsest clock of a file system, two seconds. */
const SETTLED_MS = 3000
const MAX_BYTES = 32 * 1024 * 1024

/** The time of the last change of the inode, `ctime`, cannot be set by a program. */
function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return (
    a.ino === b.ino &&
    a.dev === b.dev &&
    a.size === b.size &&
    a.ctimeNs === b.ctimeNs &&
    a.mtimeNs === b.mtimeNs
  )
}
