import { lstat } from 'node:fs/promises'
import path from 'node:path'
import { temporaryName, writeFileAtomic } from '@chirality/disk'
import { ToolError } from '../built-in-tool.ts'
import { nameOfKind, type PinnedDirectory } from './pinned-directory.ts'
import type { FilePlace, Workspace } from './workspace.ts'

export const MAX_TEXT_FILE_BYTES = 10 * 1024 * 1024

/** Reads an existing text file. Refuses bytes that are not UTF-8, because writing them back would change them. */
export async function readText(workspace: Workspace, place: FilePlace): Promise<string> {
  const directory = await workspace.openParent(place)
  try {
    const file = await directory.openFile(path.basename(place.real))
    try {
      const { size } = await file.stat()
      if (size > MAX_TEXT_FILE_BYTES)
        throw new ToolError(`${place.shown} is over ${MAX_TEXT_FILE_BYTES} bytes.`)
      return decode(await file.readFile(), place.shown)
    } finally {
      await file.close()
    }
  } finally {
    await directory.close()
  }
}

/** Replaces the file atomically and keeps its mode. Hard links to the file keep the old content. */
export async function writeText(workspace: Workspace, place: FilePlace, text: string): Promise<void> {
  const bytes = Buffer.from(text)
  if (bytes.length > MAX_TEXT_FILE_BYTES)
    throw new ToolError(`The content is over ${MAX_TEXT_FILE_BYTES} bytes.`)
  await workspace.makeParents(place)
  const directory = await workspace.openParent(place)
  try {
    const name = path.basename(place.real)
    const mode = await modeOf(directory, name, place.shown)
    await replace(directory, name, { bytes, mode })
  } finally {
    await directory.close()
  }
}

function decode(bytes: Buffer, shown: string): string {
  if (bytes.includes(0)) throw new ToolError(`${shown} is a binary file.`)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new ToolError(`${shown} is not UTF-8 text.`)
  }
}

async function modeOf(directory: PinnedDirectory, name: string, shown: string): Promise<number | undefined> {
  const info = await lstat(directory.entry(name)).catch(() => null)
  if (info === null) return undefined
  if (!info.isFile()) throw new ToolError(`${shown} is ${nameOfKind(info)}, not a file.`)
  return info.mode & 0o7777
}

/** In the folder that was opened: its path may lead elsewhere by now. */
async function replace(
  directory: PinnedDirectory,
  name: string,
  { bytes, mode = 'umask' }: { bytes: Buffer; mode: number | 'umask' | undefined },
): Promise<void> {
  await writeFileAtomic(directory.entry(name), bytes, {
    mode,
    // The name of the file may be as long as a name can be.
    temporary: temporaryName(directory.entry('')),
    check: () => directory.checkPlace(),
    survives: 'kill',
  })
}

/** One changed section of a file with its context, numbered as in `diff -u`. */
export interface Hunk {
  oldStart: number
  oldLines: number
  newStart: number
  newLines: number
  /** Each line starts with a space, a minus or a plus. */
  lines: string[]
}

/** The difference of two texts as one hunk, from the first different line to the last. Empty when they are equal. */
export function structuredPatch(before: string, after: string): Hunk[] {
  if (before === after) return []
  const old = linesOf(before)
  const now = linesOf(after)
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1
  let tail = 0
  while (tail < Math.min(old.length, now.length) - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1
  const start = Math.max(0, head - CONTEXT_LINES)
  const around = Math.min(tail, CONTEXT_LINES)
  const removed = old.slice(head, old.length - tail)
  const added = now.slice(head, now.length - tail)
  const lines = [
    ...old.slice(start, head).map(line => ` ${line}`),
    ...cut(removed).map(line => `-${line}`),
    ...cut(added).map(line => `+${line}`),
    ...old.slice(old.length - tail, old.length - tail + around).map(line => ` ${line}`),
  ]
  const context = head - start + around
  return [
    {
      oldStart: old.length === 0 ? 0 : start + 1,
      oldLines: context + removed.length,
      newStart: now.length === 0 ? 0 : start + 1,
      newLines: context + added.length,
      lines,
    },
  ]
}

const CONTEXT_LINES = 3
/** The patch is only for display. */
const MAX_PATCH_LINES = 2000

function linesOf(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function cut(lines: string[]): string[] {
  if (lines.length <= MAX_PATCH_LINES) return lines
  return [...lines.slice(0, MAX_PATCH_LINES), `[${lines.length - MAX_PATCH_LINES} more lines]`]
}
