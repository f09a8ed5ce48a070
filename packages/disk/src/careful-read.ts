import { constants, createWriteStream, type Dirent, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, opendir, realpath } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type AtomicWriteOptions, fillFileAtomic } from './atomic-write.ts'
import { errnoOf, messageOf } from './errno.ts'
import { openedPath } from './read-write.ts'
import { StorageError } from './storage-error.ts'

/**
 * A file that somebody else may have put there: a clone, an archive, an agent. It can be a link to a file without an
 * end or to one of the user's, a FIFO, a folder, of any size.
 */
export interface FileRequest {
  /** The folder that the file must be in. May itself be reached by links. */
  root: string
  /** Below `root`. */
  path: string
  /** `none` for what Chirality writes: a link never belongs there. `inside`: a link to a file below `root` is used. */
  links: 'none' | 'inside'
  maxBytes: number
}

export type FileFaultKind =
  | 'link'
  | 'outside'
  | 'not-a-file'
  | 'not-a-folder'
  | 'too-large'
  | 'unreadable'
  | 'damaged'

/** Why a file is not used. The message names the file. */
export interface FileFault {
  kind: FileFaultKind
  path: string
  message: string
}

export interface ReadFile {
  bytes: Buffer
  stats: Stats
}

/** Never rejects, never blocks: the whole file, why it is not read, or undefined if there is none. */
export async function readCarefully(
  request: FileRequest,
): Promise<ReadFile | { fault: FileFault } | undefined> {
  const opened = await openCarefully(request)
  if (opened === undefined || 'fault' in opened) return opened
  const { handle, stats } = opened
  try {
    const { maxBytes } = request
    if (stats.size > maxBytes) return { fault: tooLarge(request, stats.size) }
    const bytes = await readStart(handle, Math.min(stats.size, maxBytes) + 1)
    // It grew while it was read.
    if (bytes.length > maxBytes) return { fault: tooLarge(request, bytes.length) }
    return { bytes, stats }
  } catch (error) {
    return { fault: unreadable(request, error) }
  } finally {
    await handle.close()
  }
}

export type ReadText = { text: string } | { fault: FileFault } | undefined

export async function readTextCarefully(request: FileRequest): Promise<ReadText> {
  const read = await readCarefully(request)
  if (read === undefined || 'fault' in read) return read
  return { text: read.bytes.toString('utf8') }
}

/** A JSON file in the form that `parse` accepts; what that throws is the fault. */
export async function readJsonCarefully<T>(
  request: FileRequest,
  parse: (value: unknown) => T,
): Promise<{ value: T } | { fault: FileFault } | undefined> {
  const read = await readTextCarefully(request)
  if (read === undefined || 'fault' in read) return read
  try {
    return { value: parse(JSON.parse(read.text)) }
  } catch (error) {
    return { fault: faultOf(request, 'damaged', `cannot be read: ${messageOf(error)}`) }
  }
}

/** For callers that cannot go on without the file. A missing one is undefined. */
export function textOrThrow(read: ReadText): string | undefined {
  if (read === undefined) return undefined
  if ('text' in read) return read.text
  throw new StorageError('unsafe', read.fault.path, read.fault.message)
}

/**
 * An open regular file of any size, for readers of parts; `maxBytes` is theirs to keep. Undefined if there is none. The
 * caller closes the handle.
 */
export async function openCarefully(
  request: Omit<FileRequest, 'maxBytes'>,
): Promise<{ handle: FileHandle; stats: Stats } | { fault: FileFault } | undefined> {
  const found = await locate(request)
  if (found === undefined || 'fault' in found) return found
  if (!found.stats.isFile()) return { fault: notA(request, 'file', found.stats) }
  let handle: FileHandle
  try {
    handle = await open(found.file, READ)
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? undefined : { fault: unreadable(request, error) }
  }
  try {
    const stats = await handle.stat()
    const isSame = openedPath(handle.fd, found.file) === found.file
    if (isSame && stats.isFile()) return { handle, stats }
    await handle.close()
    // Replaced between the look and the opening.
    return { fault: isSame ? notA(request, 'file', stats) : isLink(request) }
  } catch (error) {
    await handle.close()
    return { fault: unreadable(request, error) }
  }
}

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** The entries of a folder, at most `max` of them. Undefined if there is none. */
export async function listCarefully(
  request: Omit<FileRequest, 'maxBytes'> & { max?: number },
): Promise<{ entries: Dirent[] } | { fault: FileFault } | undefined> {
  const found = await locate(request)
  if (found === undefined || 'fault' in found) return found
  if (!found.stats.isDirectory()) return { fault: notA(request, 'folder', found.stats) }
  const { max = MAX_ENTRIES } = request
  const entries: Dirent[] = []
  try {
    for await (const entry of await opendir(found.file)) {
      if (entries.length >= max)
        return { fault: faultOf(request, 'too-large', `has more than ${max} entries`) }
      entries.push(entry)
    }
    return { entries }
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? undefined : { fault: unreadable(request, error) }
  }
}

const MAX_ENTRIES = 100_000

/**
 * A copy of a file of any size, for its owner only, in the place of what is there. False if there is no such file. Throws
 * if it is anything else: a copy of a FIFO would keep a thread of the pool for ever, one of /dev/zero would fill the disk.
 */
export async function copyCarefully(
  from: string,
  to: string,
  options: Pick<AtomicWriteOptions, 'modifiedAt'> = {},
): Promise<boolean> {
  const opened = await openCarefully({ root: path.dirname(from), path: path.basename(from), links: 'none' })
  if (opened === undefined) return false
  if ('fault' in opened) throw new StorageError('unsafe', opened.fault.path, opened.fault.message)
  const { handle, stats } = opened
  try {
    // No more than it has now, should it grow.
    const end = Math.max(0, stats.size - 1)
    const source = handle.createReadStream({ autoClose: false, start: 0, end, highWaterMark: COPY_BYTES })
    const fill = (fd: number) => pipeline(source, createWriteStream('', { fd, autoClose: false }))
    await fillFileAtomic(to, fill, { ...options, survives: 'kill' })
    return true
  } finally {
    await handle.close()
  }
}

const COPY_BYTES = 1024 * 1024

/** What is at the path, without opening it. Undefined if there is nothing. */
export async function lookCarefully(
  request: Omit<FileRequest, 'maxBytes'>,
): Promise<{ stats: Stats } | { fault: FileFault } | undefined> {
  return locate(request)
}

/** At most this many bytes from the beginning. */
export async function readStart(handle: FileHandle, bytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes)
  let filled = 0
  while (filled < bytes) {
    const { bytesRead } = await handle.read(buffer, filled, bytes - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

/** Where the file is, with every folder on the way a real one. */
async function locate(
  request: Omit<FileRequest, 'maxBytes'>,
): Promise<{ file: string; stats: Stats } | { fault: FileFault } | undefined> {
  const { links, root } = request
  try {
    const top = await realpath(root)
    const wanted = path.resolve(top, request.path)
    const file = links === 'inside' ? await realpath(wanted) : wanted
    const inside = path.relative(top, file)
    if (inside === '..' || inside.startsWith(`..${path.sep}`) || path.isAbsolute(inside))
      return { fault: faultOf(request, 'outside', 'leads out of its folder and is not used') }
    return await walk(request, top, inside.split(path.sep).filter(Boolean))
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT') return (await isThere(request)) ? { fault: isLink(request) } : undefined
    if (code === 'ELOOP') return { fault: isLink(request) }
    if (code === 'ENOTDIR')
      return { fault: faultOf(request, 'not-a-folder', 'is below something that is no folder') }
    return { fault: unreadable(request, error) }
  }
}

async function walk(
  request: Omit<FileRequest, 'maxBytes'>,
  top: string,
  parts: readonly string[],
): Promise<{ file: string; stats: Stats } | { fault: FileFault }> {
  let file = top
  let stats = await lstat(top)
  for (const part of parts) {
    if (!stats.isDirectory())
      return { fault: faultOf(request, 'not-a-folder', 'is below something that is no folder') }
    file = path.join(file, part)
    stats = await lstat(file)
    if (stats.isSymbolicLink()) return { fault: isLink(request) }
  }
  return { file, stats }
}

/** A link whose target is missing is there, and a fault. */
async function isThere({ root, path: below }: Omit<FileRequest, 'maxBytes'>): Promise<boolean> {
  return lstat(path.resolve(root, below)).then(
    () => true,
    () => false,
  )
}

type Asked = Pick<FileRequest, 'root' | 'path'>

function faultOf(request: Asked, kind: FileFaultKind, words: string): FileFault {
  const file = path.resolve(request.root, request.path)
  return { kind, path: file, message: `${file} ${words}.` }
}

function isLink(request: Asked): FileFault {
  return faultOf(request, 'link', 'is reached by a symbolic link that may not be there, and is not used')
}

function notA(request: Asked, wanted: 'file' | 'folder', stats: Stats): FileFault {
  const is = stats.isDirectory() ? 'a folder' : stats.isFile() ? 'a file' : 'a pipe, a socket or a device'
  return faultOf(request, wanted === 'file' ? 'not-a-file' : 'not-a-folder', `is ${is}, no ${wanted}`)
}

function tooLarge({ maxBytes, ...request }: FileRequest, size: number): FileFault {
  return faultOf(request, 'too-large', `has ${size} bytes; at most ${maxBytes} are read`)
}

function unreadable(request: Asked, error: unknown): FileFault {
  return faultOf(request, 'unreadable', `cannot be read: ${messageOf(error)}`)
}
