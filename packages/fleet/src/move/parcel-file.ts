import { createHash } from 'node:crypto'
import { constants, type FileHandle, open, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Parcel } from '@chirality/sessions'
import { UNFINISHED } from '@chirality/workspaces'
import { z } from 'zod'
import { fleetError } from '../fleet-error.ts'

/** Id of a move, which becomes part of paths and refs. */
export const MOVE = /^[a-z0-9][a-z0-9-]{0,63}$/

/** The first line of a parcel: all small parts, and the lengths of the parts that follow. */
const header = z.object({
  version: z.literal(1),
  move: z.object({ id: z.string().regex(MOVE), from: z.string().max(100), to: z.string().max(100) }),
  session: z.looseObject({ id: z.string() }),
  work: z.object({
    head: z.string().regex(/^[0-9a-f]{40,64}$/),
    work: z
      .string()
      .regex(/^[0-9a-f]{40,64}$/)
      .optional(),
    files: z.number().int().min(0),
    branch: z.string(),
    base: z.string().regex(/^[0-9a-f]{40,64}$/),
    baseBranch: z.string().nullable(),
    unfinished: z.enum(UNFINISHED).optional(),
    hasBundle: z.boolean(),
  }),
  queue: z.looseObject({ messages: z.array(z.unknown()) }),
  notes: z.array(z.string()),
  cut: z.object({ seq: z.number().int().min(0) }).optional(),
  parts: z
    .array(
      z.object({
        kind: z.enum(['log', 'bundle', 'conversation']),
        name: z.string(),
        bytes: z.number().int().min(0),
      }),
    )
    .max(1000),
})

/** Writes a session that is being moved as one file, without the log of a copy and without an empty bundle. */
export async function writeParcel(file: string, parcel: Parcel): Promise<{ size: number; sha256: string }> {
  const { move, session, work, queue, notes, cut, conversation } = parcel
  const sources: { kind: 'log' | 'bundle'; path: string }[] = [
    ...(parcel.log === '' ? [] : [{ kind: 'log' as const, path: parcel.log }]),
    ...(work.hasBundle ? [{ kind: 'bundle' as const, path: parcel.bundle }] : []),
  ]
  const sizes = await Promise.all(
    sources.map(async one => ({ ...one, name: '', bytes: await sizeOf(one.path) })),
  )
  const texts = conversation.map(({ name, content }) => ({
    kind: 'conversation' as const,
    name,
    bytes: content.length,
  }))
  const parts = [...sizes.map(({ kind, name, bytes }) => ({ kind, name, bytes })), ...texts]
  const head = Buffer.from(
    `${JSON.stringify({ version: 1, move, session, work, queue, notes, cut, parts })}\n`,
  )
  const hash = createHash('sha256')
  const handle = await open(file, 'w', 0o600)
  let size = 0
  const add = async (bytes: Uint8Array) => {
    hash.update(bytes)
    await writeAll(handle, bytes)
    size += bytes.length
  }
  try {
    await add(head)
    for (const { path, bytes } of sizes) for await (const piece of piecesOf(path, 0, bytes)) await add(piece)
    for (const { content } of conversation) await add(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
  return { size, sha256: hash.digest('hex') }
}

/** Reads a parcel from a file, and writes its log and its bundle to a folder. */
export async function readParcel(file: string, folder: string): Promise<Parcel> {
  const first = await headerOf(file)
  const parsed = header.safeParse(parseJson(first.text))
  if (!parsed.success) throw damaged()
  const { move, session, work, queue, notes, cut, parts } = parsed.data
  const total = parts.reduce((sum, { bytes }) => sum + bytes, first.length)
  if (total !== (await stat(file)).size) throw damaged()
  // Conversations are read into memory, so their size is limited: the other machine may send anything.
  const conversationBytes = parts.reduce(
    (sum, { kind, bytes }) => sum + (kind === 'conversation' ? bytes : 0),
    0,
  )
  if (conversationBytes > MAX_CONVERSATION) throw damaged()
  const log = join(folder, 'log.ndjson')
  const bundle = join(folder, 'work.bundle')
  await writeFile(log, '', { mode: 0o600 })
  const conversation: Parcel['conversation'] = []
  let at = first.length
  for (const { kind, name, bytes } of parts) {
    if (kind === 'conversation') conversation.push({ name, content: await readPart(file, { at, bytes }) })
    else await copyPart(file, { at, bytes }, kind === 'log' ? log : bundle)
    at += bytes
  }
  return {
    move,
    work,
    notes,
    conversation,
    log,
    bundle,
    cut,
    session: session as unknown as Parcel['session'],
    queue: queue as unknown as Parcel['queue'],
  }
}

export async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of piecesOf(file, 0, await sizeOf(file))) hash.update(piece)
  return hash.digest('hex')
}

/** Writes bytes at an offset of a file, which is made if it is missing. */
export async function writeAt(file: string, bytes: Uint8Array, place: number): Promise<void> {
  // Never truncates: a piece that is written twice may come after the next one.
  const handle = await open(file, constants.O_RDWR | constants.O_CREAT, 0o600)
  try {
    await writeAll(handle, bytes, place)
  } finally {
    await handle.close()
  }
}

/** Reads up to `bytes` bytes, fewer at the end of the file. */
export async function readAt(file: string, { at, bytes }: { at: number; bytes: number }): Promise<Buffer> {
  const left = Math.max(0, (await sizeOf(file)) - at)
  return readPart(file, { at, bytes: Math.min(bytes, left) })
}

/** Size of a file, 0 if it is missing. */
export async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => undefined))?.size ?? 0
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, place?: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const at = place === undefined ? null : place + done
    done += (await handle.write(bytes, done, bytes.length - done, at)).bytesWritten
  }
}

async function readPart(file: string, { at, bytes }: { at: number; bytes: number }): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of piecesOf(file, at, bytes)) pieces.push(piece)
  return Buffer.concat(pieces)
}

async function copyPart(
  file: string,
  { at, bytes }: { at: number; bytes: number },
  target: string,
): Promise<void> {
  const handle = await open(target, 'w', 0o600)
  try {
    for await (const piece of piecesOf(file, at, bytes)) await writeAll(handle, piece)
  } finally {
    await handle.close()
  }
}

async function headerOf(file: string): Promise<{ text: string; length: number }> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of piecesOf(file, 0, Math.min(await sizeOf(file), MAX_HEADER))) {
    const end = piece.indexOf(0x0a)
    pieces.push(end === -1 ? piece : piece.subarray(0, end))
    length += end === -1 ? piece.length : end + 1
    if (end !== -1) return { text: Buffer.concat(pieces).toString('utf8'), length }
  }
  throw damaged()
}

async function* piecesOf(file: string, from: number, bytes: number): AsyncGenerator<Buffer> {
  if (bytes === 0) return
  const handle = await open(file, 'r')
  try {
    for (let at = 0; at < bytes; ) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE, bytes - at))
      const { bytesRead } = await handle.read(piece, 0, piece.length, from + at)
      if (bytesRead === 0) throw damaged()
      at += bytesRead
      yield piece.subarray(0, bytesRead)
    }
  } finally {
    await handle.close()
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function damaged() {
  return fleetError('move-failed', 'The received session is damaged. Nothing was changed: move it again.')
}

const PIECE = 1024 * 1024
const MAX_CONVERSATION = 256 * 1024 * 1024
const MAX_HEADER = 64 * 1024 * 1024
