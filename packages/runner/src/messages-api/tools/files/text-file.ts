import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, open, rename, unlink } from 'node:fs/promises'
import path from 'node:path'
import { ToolError } from '../tool-error.ts'
import { nameOfKind, type PinnedDirectory } from './pinned-directory.ts'
import type { Place, Workspace } from './workspace.ts'

export const MAX_FILE_BYTES = 10 * 1024 * 1024

/** The whole of an existing text file. Bytes that are no UTF-8 are refused: writing them back would damage them. */
export async function readText(workspace: Workspace, place: Place): Promise<string> {
  const directory = await workspace.openParent(place)
  try {
    const file = await directory.openFile(path.basename(place.real))
    try {
      const { size } = await file.stat()
      if (size > MAX_FILE_BYTES) throw new ToolError(`${place.shown} is over ${MAX_FILE_BYTES} bytes.`)
      return decode(await file.readFile(), place.shown)
    } finally {
      await file.close()
    }
  } finally {
    await directory.close()
  }
}

/** Replaces the file at once or not at all, and keeps its mode. Other names of the same file keep the old content. */
export async function writeText(workspace: Workspace, place: Place, text: string): Promise<void> {
  const bytes = Buffer.from(text)
  if (bytes.length > MAX_FILE_BYTES) throw new ToolError(`The content is over ${MAX_FILE_BYTES} bytes.`)
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

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
const NEW_FILE_MODE = 0o666

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

async function replace(
  directory: PinnedDirectory,
  name: string,
  { bytes, mode }: { bytes: Buffer; mode: number | undefined },
): Promise<void> {
  const temporary = directory.entry(`.${randomUUID()}.tmp`)
  const file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, NEW_FILE_MODE)
  try {
    try {
      await file.writeFile(bytes)
      if (mode !== undefined) await file.chmod(mode)
    } finally {
      await file.close()
    }
    await directory.checkPlace()
    await rename(temporary, directory.entry(name))
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
}
