import type { Dirent } from 'node:fs'
import { opendir } from 'node:fs/promises'
import path from 'node:path'
import { PinnedDirectory } from './pinned-directory.ts'

export interface Visit {
  directory: PinnedDirectory
  /** Relative to the start of the walk; ends with `/` unless empty. */
  prefix: string
  entries: Dirent[]
}

export interface WalkOptions {
  signal: AbortSignal
  limits: WalkLimits
}

/** The limits of a walk. Afterwards they say whether one was reached. */
export interface WalkLimits {
  maxEntries: number
  deadline: number
  isReached: boolean
}

export function walkLimits(): WalkLimits {
  return { maxEntries: MAX_ENTRIES, deadline: performance.now() + MAX_WALK_MS, isReached: false }
}

/**
 * Visits all folders below one. Follows no symlinks and skips version control, `node_modules` and `.chirality`. Each
 * folder is open during its visit.
 */
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

/** Streamed, because a folder can hold millions of entries. */
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
