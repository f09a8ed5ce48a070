import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Parcel } from '@chirality/sessions'
import { z } from 'zod'
import { fleetError } from '../fleet-error.ts'

/** The id of a move is a part of paths and refs. */
export const MOVE = /^[a-z0-9][a-z0-9-]{0,63}$/

/** The first line of a parcel: everything that is small, and the lengths of what follows. */
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
    hasBundle: z.boolean(),
  }),
  queue: z.looseObject({ messages: z.array(z.unknown()) }),
  notes: z.array(z.string()),
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

/** Writes a session that is on its way as one file. */
export function writeParcel(file: string, parcel: Parcel): { size: number; sha256: string } {
  const { move, session, work, queue, notes, conversation } = parcel
  const sources: { kind: 'log' | 'bundle'; path: string }[] = [
    { kind: 'log', path: parcel.log },
    ...(work.hasBundle ? [{ kind: 'bundle' as const, path: parcel.bundle }] : []),
  ]
  const sizes = sources.map(({ kind, path }) => ({
    ...{ kind, name: '', path },
    bytes: statSync(path, { throwIfNoEntry: false })?.size ?? 0,
  }))
  const texts = conversation.map(({ name, content }) => ({
    kind: 'conversation' as const,
    name,
    bytes: content.length,
  }))
  const parts = [...sizes.map(({ kind, name, bytes }) => ({ kind, name, bytes })), ...texts]
  const head = Buffer.from(`${JSON.stringify({ version: 1, move, session, work, queue, notes, parts })}\n`)
  const hash = createHash('sha256')
  const fd = openSync(file, 'w', 0o600)
  let size = 0
  const add = (bytes: Uint8Array) => {
    hash.update(bytes)
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
    size += bytes.length
  }
  try {
    add(head)
    for (const { path, bytes } of sizes) for (const piece of piecesOf(path, 0, bytes)) add(piece)
    for (const { content } of conversation) add(content)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  return { size, sha256: hash.digest('hex') }
}

/** The parcel in a file. Its log and its bundle are written to a folder. */
export function readParcel(file: string, folder: string): Parcel {
  const first = headerOf(file)
  const parsed = header.safeParse(parseJson(first.text))
  if (!parsed.success) throw damaged()
  const { move, session, work, queue, notes, parts } = parsed.data
  const total = parts.reduce((sum, { bytes }) => sum + bytes, first.length)
  if (total !== statSync(file).size) throw damaged()
  // They are read into memory; the other machine may say anything.
  const conversationBytes = parts.reduce(
    (sum, { kind, bytes }) => sum + (kind === 'conversation' ? bytes : 0),
    0,
  )
  if (conversationBytes > MAX_CONVERSATION) throw damaged()
  const log = join(folder, 'log.ndjson')
  const bundle = join(folder, 'work.bundle')
  writeFileSync(log, '', { mode: 0o600 })
  const conversation: Parcel['conversation'] = []
  let at = first.length
  for (const { kind, name, bytes } of parts) {
    if (kind === 'conversation')
      conversation.push({ name, content: Buffer.concat([...piecesOf(file, at, bytes)]) })
    else copyPart(file, { at, bytes }, kind === 'log' ? log : bundle)
    at += bytes
  }
  return {
    ...{ move, work, notes, conversation, log, bundle },
    session: session as unknown as Parcel['session'],
    queue: queue as unknown as Parcel['queue'],
  }
}

export function hashOf(file: string): string {
  const hash = createHash('sha256')
  for (const piece of piecesOf(file, 0, statSync(file).size)) hash.update(piece)
  return hash.digest('hex')
}

function copyPart(file: string, { at, bytes }: { at: number; bytes: number }, target: string): void {
  const fd = openSync(target, 'w', 0o600)
  try {
    for (const piece of piecesOf(file, at, bytes))
      for (let done = 0; done < piece.length; ) done += writeSync(fd, piece, done)
  } finally {
    closeSync(fd)
  }
}

function headerOf(file: string): { text: string; length: number } {
  const pieces: Buffer[] = []
  let length = 0
  for (const piece of piecesOf(file, 0, Math.min(statSync(file).size, MAX_HEADER))) {
    const end = piece.indexOf(0x0a)
    pieces.push(end === -1 ? piece : piece.subarray(0, end))
    length += end === -1 ? piece.length : end + 1
    if (end !== -1) return { text: Buffer.concat(pieces).toString('utf8'), length }
  }
  throw damaged()
}

function* piecesOf(file: string, from: number, bytes: number): Generator<Buffer> {
  if (bytes === 0) return
  const fd = openSync(file, 'r')
  try {
    for (let at = 0; at < bytes; ) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE, bytes - at))
      const read = readSync(fd, piece, 0, piece.length, from + at)
      if (read === 0) throw damaged()
      at += read
      yield piece.subarray(0, read)
    }
  } finally {
    closeSync(fd)
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
  return fleetError(
    'move-failed',
    'What arrived of the session is damaged. Nothing was changed: move it again.',
  )
}

const PIECE = 1024 * 1024
const MAX_CONVERSATION = 256 * 1024 * 1024
const MAX_HEADER = 64 * 1024 * 1024
