import type { Dirent } from 'node:fs'
import { opendir } from 'node:fs/promises'
import path from 'node:path'
import { PinnedDirectory } from './pinned-directory.ts'

export interface Visit {
  directory: PinnedDirectory
  /** Relative to where the walk began, with `/` at its end unless it is empty. */
  prefix: string
  /** Sorted by name. */
  entries: Dirent[]
}

export interface WalkOptions {
  signal: AbortSignal
  limits: WalkLimits
}

/** What a walk may cost; it says afterwards whether that was enough. */
export interface WalkLimits {
  maxEntries: number
  deadline: number
  isReached: boolean
}

export function walkLimits(): WalkLimits {
  return { maxEntries: MAX_ENTRIES, deadline: performance.now() + MAX_WALK_MS, isReached: false }
}

/** All folders below one, without following links and without what nobody wrote by hand. Each is open while it is visited. */
export async function* walk(start: string, { signal, limits }: WalkOptions): AsyncGenerator<Visit> {
  const waiting: string[] = ['']
  let seen = 0
  while (waiting.length > 0) {
    signal.throwIfAborted()
    const prefix = waiting.shift() ?? ''
    const directory = await PinnedDirectory.open(path.resolve(start, prefix)).catch(() => null)
    if (directory === null) continue
    try {
      const entries = await readEntries(directory, limits.maxEntries - seen)
      seen += entries.length
      yield { directory, prefix, entries }
      const folders = entries.filter(entry => entry.isDirectory() && !SKIPPED.has(entry.name))
      waiting.push(...folders.map(({ name }) => `${prefix}${name}/`))
    } finally {
      await directory.close()
    }
    if (seen >= limits.maxEntries || performance.now() > limits.deadline) {
      limits.isReached = waiting.length > 0 || seen >= limits.maxEntries
      return
    }
  }
}

/** Streamed, because a folder can hold millions. */
export async function readEntries(directory: PinnedDirectory, limit: number): Promise<Dirent[]> {
  const entries: Dirent[] = []
  for await (const entry of await opendir(directory.listing)) {
    if (entries.length >= limit) break
    entries.push(entry)
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

const SKIPPED: ReadonlySet<string> = new Set(['.git', '.hg', '.svn', 'node_modules', '.chirality'])
const MAX_ENTRIES = 200_000
const MAX_WALK_MS = 10_000
