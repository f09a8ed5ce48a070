import { closeSync, readSync } from 'node:fs'
import { NdjsonFramer, type NdjsonRecord } from '@chirality/core'
import { OPEN, openRegular, realFileOps } from '@chirality/disk'
import { toRpcMessage } from '../../process/json-rpc.ts'
import type { SpoolCursor } from './thread-feed.ts'
import type { ThreadMessage } from './thread-message.ts'

/** Null if the spool cannot be opened again: it was deleted, or too many files are open. */
export function openSpoolCursor(path: string, offset: number): SpoolCursor | null {
  try {
    const fd = openRegular(realFileOps, path, OPEN.read)
    return new FileCursor(fd, offset)
  } catch {
    return null
  }
}

class FileCursor implements SpoolCursor {
  readonly #fd: number
  readonly #start: number
  readonly #framer = new NdjsonFramer()
  #offset: number
  #records: NdjsonRecord[] = []
  #next = 0

  constructor(fd: number, offset: number) {
    this.#fd = fd
    this.#start = offset
    this.#offset = offset
  }

  next(end: number): ThreadMessage | undefined {
    while (true) {
      const record = this.#records[this.#next] ?? this.#read(end)
      if (!record || this.#start + record.offset >= end) return undefined
      this.#next += 1
      const message = toThreadMessage(record, this.#start)
      if (message) return message
    }
  }

  close(): void {
    closeSync(this.#fd)
  }

  #read(end: number): NdjsonRecord | undefined {
    while (this.#offset < end) {
      const bytes = readSync(this.#fd, READ_BUFFER, 0, READ_BUFFER.length, this.#offset)
      if (bytes === 0) return undefined
      this.#offset += bytes
      this.#records = this.#framer.push(READ_BUFFER.subarray(0, bytes))
      this.#next = 0
      if (this.#records.length > 0) return this.#records[0]
    }
    return undefined
  }
}

/** Shared by all cursors, because the framer copies its records. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)

/** Undefined for a line that is neither a notification nor a request. */
export function toThreadMessage(record: NdjsonRecord, start = 0): ThreadMessage | undefined {
  if (record.kind !== 'json') return undefined
  const message = toRpcMessage(record.value)
  if (message.kind !== 'notification' && message.kind !== 'request') return undefined
  const { value: raw, bytes } = record
  const place = { raw, offset: start + record.offset, bytes }
  return message.kind === 'request' ? { ...place, request: message.request } : place
}
