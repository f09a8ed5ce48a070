import { type BigIntStats, closeSync, fstatSync, readSync } from 'node:fs'
import { openProjectFile } from './open-project-file.ts'

export interface FileRequest<T> {
  realRoot: string
  relativePath: string
  /** Keeps apart what different readers make of one file. */
  kind: string
  maxBytes: number
  /** Gets at most `maxBytes`; `size` is that of the whole file. What it throws is not remembered. */
  parse: (head: Uint8Array, size: number) => T
}

/**
 * Reads project files, and again only when they have changed on disk. Holds a bounded amount. Each turn asks for them, so it
 * does without the thread pool: the way through it costs many times what a small file does.
 */
export class FileCache {
  readonly #entries = new Map<string, Entry>()
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes = MAX_CACHE_BYTES) {
    this.#maxBytes = maxBytes
  }

  /** Null when there is no such file. */
  async read<T>(request: FileRequest<T>): Promise<T | null> {
    const { realRoot, relativePath, kind, maxBytes, parse } = request
    const key = [kind, realRoot, relativePath].join('\0')
    const file = openProjectFile(realRoot, relativePath)
    if (file === null) {
      this.#forget(key)
      return null
    }
    try {
      const { fd, stats } = file
      const version = versionOf(stats)
      const known = this.#entries.get(key)
      // The kind is part of the key, and each kind has one parser.
      if (known?.version === version && !known.isFresh) return this.#touch(key, known).value as T
      const isFresh = Date.now() - Number(stats.mtimeMs) < FRESH_MS
      const head = readHead(fd, maxBytes)
      const value = parse(head, Math.max(Number(stats.size), head.length))
      this.#remember(key, { version, isFresh, value, bytes: head.length + ENTRY_BYTES })
      return value
    } finally {
      closeSync(file.fd)
    }
  }

  #touch(key: string, entry: Entry): Entry {
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry
  }

  #remember(key: string, entry: Entry): void {
    this.#forget(key)
    this.#entries.set(key, entry)
    this.#bytes += entry.bytes
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return
      this.#forget(oldest)
    }
  }

  #forget(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0
    this.#entries.delete(key)
  }
}

interface Entry {
  version: string
  /** Read so soon after a change that another one could have left the same time stamp: not to be relied on. */
  isFresh: boolean
  value: unknown
  bytes: number
}

const MAX_CACHE_BYTES = 8 * 1024 * 1024
const ENTRY_BYTES = 512
/** The coarsest time stamps in use tick every two seconds. */
const FRESH_MS = 2_000

function versionOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':')
}

/** The first bytes of a file, at most `maxBytes`, however much it holds or grows. */
function readHead(fd: number, maxBytes: number): Uint8Array {
  const { size } = fstatSync(fd)
  // One more than its size, so that the usual file ends with one read.
  const buffer = Buffer.alloc(Math.min(maxBytes, size + 1))
  let filled = 0
  while (filled < buffer.length) {
    const bytesRead = readSync(fd, buffer, filled, buffer.length - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
