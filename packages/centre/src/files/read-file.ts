import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { readStart } from '@chirality/disk'
import { confine, requireStillInside, toFileError } from '@chirality/workspaces'
import { callError } from '../errors.ts'
import type { FileContent, FileOfTree } from '../shapes/files.ts'

/** A file of a project, as far as it can be shown. */
export async function readProjectFile(root: string, relative: string): Promise<FileContent> {
  const file = await confine(root, relative)
  // Non-blocking: a FIFO in the project must not block the server. The path is resolved, so a link here was created
  // since.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
  const handle = await open(file, flags).catch((error: unknown) => {
    throw toFileError(error, relative)
  })
  try {
    const stats = await handle.stat()
    await requireStillInside(root, relative, { fd: handle.fd, dev: stats.dev, ino: stats.ino })
    if (!stats.isFile()) throw callError('not-a-file', `${relative} is not a file.`)
    const base = { path: relative, sizeBytes: stats.size, modifiedAt: stats.mtime.toISOString() }
    const mediaType = imageType(file)
    if (mediaType !== undefined && stats.size <= MAX_IMAGE_BYTES) {
      const bytes = await readStart(handle, stats.size)
      return { ...base, kind: 'image', mediaType, base64: bytes.toString('base64') }
    }
    const bytes = await readStart(handle, Math.min(stats.size, MAX_TEXT_BYTES))
    const text = decode(bytes, stats.size > MAX_TEXT_BYTES)
    if (text === undefined) return { ...base, kind: 'binary' }
    return { ...base, kind: 'text', text, truncated: stats.size > MAX_TEXT_BYTES }
  } finally {
    await handle.close()
  }
}

/** A file of an earlier state, as far as it can be shown. `bytes` is null for a large one. */
export function shownContent(
  file: string,
  { bytes, sizeBytes }: { bytes: Buffer | null; sizeBytes: number },
): FileOfTree {
  const mediaType = imageType(file)
  if (bytes !== null && mediaType !== undefined)
    return { kind: 'image', mediaType, base64: bytes.toString('base64') }
  const text = bytes === null ? undefined : decode(bytes, false)
  return text === undefined ? { kind: 'other', sizeBytes } : { kind: 'text', text }
}

/** Undefined if it is not shown as an image. */
function imageType(file: string): string | undefined {
  return IMAGE_TYPES[path.extname(file).toLowerCase()]
}

const MAX_TEXT_BYTES = 1024 * 1024
const MAX_IMAGE_BYTES = 4 * 1024 * 1024

const IMAGE_TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
}

/** Undefined if it is not text: it contains a NUL, or bytes that are not UTF-8. */
function decode(bytes: Buffer, cut: boolean): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    // A character that the limit cuts is left out, and is no error.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: cut })
  } catch {
    return undefined
  }
}

/**
 * Reads a small file in a project. An agent, or the author of the repository, may have replaced it with a link to an
 * endless file, or a FIFO without a writer. Throws if it is not a regular file, or too large.
 */
export async function readRegularFile(file: string, maxBytes = MAX_BYTES): Promise<string> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    const stats = await handle.stat()
    if (!stats.isFile() || stats.size > maxBytes)
      throw new Error(`${file} is not a regular file of at most ${maxBytes} bytes.`)
    return (await readStart(handle, stats.size)).toString('utf8')
  } finally {
    await handle.close()
  }
}

const MAX_BYTES = 4 * 1024 * 1024
