import { setImmediate as nextLoopTurn } from 'node:timers/promises'
import { LineFramer, type LineRecord, NdjsonFramer, type NdjsonRecord } from '@chirality/core'
import { Wake } from '../../common/wake.ts'
import type { SpoolReadEnd, SpoolSource } from '../spool/spool-source.ts'
import { type FileDamage, Tail } from './tail.ts'

export type AgentOutput =
  | { kind: 'record'; record: NdjsonRecord }
  | { kind: 'stderr'; line: string }
  /** The raw log was deleted or truncated while in use. Reading goes on, but the file is incomplete. */
  | { kind: 'spool-damaged'; path: string; damage: FileDamage }

export interface AgentOutputOptions {
  spool: SpoolSource
  /** Offset in stdout to begin at, at the start of a line. Default 0. */
  offset?: number
  maxLineBytes?: number
  /** `false` for file systems that send no change events. */
  watch?: boolean
  /** A line of stdout was cut by a failed write. */
  onTorn?: () => void
}

/** The two files of a run as one sequence of records. */
export class AgentOutputReader {
  readonly #wake = new Wake()
  #sources: Source[]
  readonly #pace = new ReadPace()
  #pending: AgentOutput[] = []
  #isBehind = false
  #ended = false
  #onEnd: () => void = () => {}
  #reading = false

  constructor(options: AgentOutputOptions) {
    const { spool, offset = 0, maxLineBytes, watch, onTorn } = options
    const source = ({ path, readFd: fd }: SpoolReadEnd, framer: Framer, offset?: number): Source => {
      const onWake = () => {
        made.mayHaveMore = true
        this.#wake.notify()
      }
      const tail = new Tail({ fd, path, onWake, watch, offset })
      const made: Source = { path, tail, mayHaveMore: true, isSlow: false, ...framer }
      return made
    }
    const stdout = new NdjsonFramer({ maxLineBytes })
    const told = (records: NdjsonRecord[]) => {
      if (records.some(record => record.kind === 'malformed' && record.isTorn)) onTorn?.()
      return records.map(record => toRecord(record, offset))
    }
    const framer = {
      push: (chunk: Uint8Array) => told(stdout.push(chunk)),
      end: () => told(stdout.end()),
    }
    this.#sources = [source(spool.stdout, framer, offset)]
    if (spool.stderr === undefined) return
    const stderr = new LineFramer({ maxLineBytes: MAX_STDERR_LINE_BYTES })
    const few = new FewLines()
    this.#sources.push(
      source(spool.stderr, {
        push: chunk => few.push(stderr.push(chunk)).map(toStderr),
        end: () => [...few.push(stderr.end()), ...few.end()].map(toStderr),
      }),
    )
  }

  /** The agent has exited: reads to the end of the files and finishes. */
  end(): void {
    this.#ended = true
    for (const { tail } of this.#sources) tail.close()
    this.#onEnd()
    this.#wake.notify()
  }

  /** Finishes without reading the rest. */
  close(): void {
    this.end()
    this.#sources = []
  }

  /** The new output, as soon as there is some; undefined at the end. Each read is one batch. */
  async read(): Promise<AgentOutput[] | undefined> {
    if (this.#reading) throw new Error('The output of a process has one reader at a time.')
    this.#reading = true
    try {
      for (;;) {
        // Checked before reading, so that output from before the exit is read in this round.
        const ended = this.#ended
        // A full buffer is a batch of its own; only small pieces are collected. A reader that is always behind has to
        // yield, or timers and sockets would wait.
        const waitMs = ended || this.#isBehind ? 0 : this.#pace.waitMs()
        if (waitMs > 0) await this.#endOrPause(waitMs)
        else if (this.#isBehind) await nextLoopTurn()
        const hasRead = this.#readOnce(ended)
        this.#isBehind = hasRead && this.#sources.some(({ mayHaveMore }) => mayHaveMore)
        if (hasRead) this.#pace.spend()
        if (this.#pending.length > 0) return this.#pending.splice(0)
        if (hasRead) continue
        if (ended) return undefined
        await this.#wake.wait()
      }
    } finally {
      this.#reading = false
    }
  }

  /** Pauses, but not beyond the agent's exit. */
  #endOrPause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#onEnd = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Reads one buffer of each file. False if there was nothing to read. */
  #readOnce(ended: boolean): boolean {
    let hasRead = false
    for (const source of this.#sources) {
      if (!source.mayHaveMore && !ended) continue
      const buffer = source.isSlow ? SLOW_READ_BUFFER : READ_BUFFER
      const bytes = source.tail.read(buffer)
      // Any write after this point causes a wake-up.
      source.mayHaveMore = bytes === buffer.length
      if (bytes > 0) {
        hasRead = true
        const startedAt = performance.now()
        this.#add(source.push(buffer.subarray(0, bytes)))
        if (performance.now() - startedAt > SLOW_FRAMING_MS) source.isSlow = true
        if (!source.tail.isSuspect) continue
      }
      const damage = source.tail.inspect()
      if (damage !== undefined) this.#add([{ kind: 'spool-damaged', path: source.path, damage }])
      // A truncated file starts again at its beginning.
      if (damage === 'truncated') {
        source.mayHaveMore = true
        hasRead = true
      }
    }
    if (!hasRead && ended) for (const source of this.#sources) this.#add(source.end())
    return hasRead
  }

  #add(items: AgentOutput[]): void {
    if (this.#pending.length === 0) this.#pending = items
    else for (const item of items) this.#pending.push(item)
  }
}

/**
 * How often the output of one agent is read: the only place that decides how much is joined into one event, one write
 * and one message to a reader. A few lines after a pause are read at once; a continuous stream is read every 8 ms.
 */
class ReadPace {
  #credit = MAX_CREDIT
  #at = performance.now()

  waitMs(): number {
    const now = performance.now()
    this.#credit = Math.min(MAX_CREDIT, this.#credit + (now - this.#at) / READ_MS)
    this.#at = now
    return this.#credit >= 1 ? 0 : (1 - this.#credit) * READ_MS
  }

  spend(): void {
    this.#credit = Math.max(0, this.#credit - 1)
  }
}

const READ_MS = 8
/** More than the number of lines before the first text of an answer. */
const MAX_CREDIT = 8

interface Framer {
  push(chunk: Uint8Array): AgentOutput[]
  end(): AgentOutput[]
}

interface Source extends Framer {
  path: string
  tail: Tail
  mayHaveMore: boolean
  /** Pieces of this kind take long to frame: short lines that are not JSON. */
  isSlow: boolean
}

/** Shared by all readers: the bytes are framed synchronously, and the framers copy what they keep. */
const READ_BUFFER = Buffer.allocUnsafeSlow(256 * 1024)
/** The size of one read for a file whose last piece took longer to frame than other agents may wait. */
const SLOW_READ_BUFFER = READ_BUFFER.subarray(0, 32 * 1024)
const SLOW_FRAMING_MS = 10
const MAX_STDERR_LINE_BYTES = 1024 * 1024

/** The framer counts from the start of reading; a record needs its offset in the file. */
function toRecord(record: NdjsonRecord, start: number): AgentOutput {
  return { kind: 'record', record: start === 0 ? record : { ...record, offset: record.offset + start } }
}

function toStderr(record: LineRecord): AgentOutput {
  const line = record.kind === 'line' ? record.text : `[a line of ${record.bytes} bytes, see the stderr log]`
  return { kind: 'stderr', line }
}

/**
 * Shortens a flood of lines to its first and last ones and the number between; the file has all of them. A program may
 * print a hundred lines a second, and each one costs a row of the log.
 */
export class FewLines {
  #since = Number.NEGATIVE_INFINITY
  #told = 0
  #left = 0
  /** The last lines that were not passed on. */
  #held: LineRecord[] = []

  push(records: LineRecord[]): LineRecord[] {
    const now = performance.now()
    if (now - this.#since >= WINDOW_MS) {
      this.#since = now
      this.#told = 0
    }
    const room = Math.max(0, LINES_A_WINDOW - this.#told)
    const told = room > 0 && records.length > 0 ? [...this.end(), ...records.slice(0, room)] : []
    this.#told += told.length
    const held = [...this.#held, ...records.slice(room)]
    this.#left += Math.max(0, held.length - LAST_LINES)
    this.#held = held.slice(-LAST_LINES)
    return told
  }

  /** The held lines, after a line with the number of omitted ones. */
  end(): LineRecord[] {
    const held = this.#held
    const text = `[${this.#left} more ${this.#left === 1 ? 'line' : 'lines'}, see the stderr log]`
    const between: LineRecord = { kind: 'line', text, bytes: text.length, offset: held[0]?.offset ?? 0 }
    const records = this.#left === 0 ? held : [between, ...held]
    this.#left = 0
    this.#held = []
    return records
  }
}

const WINDOW_MS = 1000
const LINES_A_WINDOW = 100
const LAST_LINES = 25
