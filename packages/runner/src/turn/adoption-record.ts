import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { HarnessTurnOpts, TurnProcess, UIEvent } from '@chirality/core'
import { readTextCarefully } from '@chirality/disk'
import type { TurnLog } from './harness-log.ts'
import type { TurnFacts } from './turn-program.ts'

export interface AdoptionRecordOptions {
  turnId: string
  /** If undefined, the turn cannot be adopted and no record is written. */
  onProcess?: HarnessTurnOpts['onProcess']
  log: TurnLog
}

/**
 * Everything a restarted server needs to emit the turn's events again: its processes, its facts, and the events that
 * the spool file does not hold. If a record cannot be written, the turn cannot be adopted, but it goes on.
 */
export class AdoptionRecord {
  readonly #options: AdoptionRecordOptions
  #notes: TurnNotes | null = null

  constructor(options: AdoptionRecordOptions) {
    this.#options = options
  }

  get isKept(): boolean {
    return this.#options.onProcess !== undefined
  }

  /** Opens the notes file beside the spool that the agent is about to write to. */
  begin(spoolPath: string, facts?: TurnFacts): void {
    if (!this.isKept) return
    const notes = new TurnNotes({ spoolPath, turnId: this.#options.turnId })
    this.#notes = notes
    if (facts) this.#try(() => notes.facts(facts))
  }

  /** Continues the notes file of the server that started the turn. */
  resume(spoolPath: string): Promise<{ facts: TurnFacts; notes: TurnNote[] }> {
    this.#notes = new TurnNotes({ spoolPath, turnId: this.#options.turnId })
    return this.#notes.read()
  }

  /** From now on a restarted server can find the turn. */
  tell(process: TurnProcess): void {
    this.#try(() => this.#options.onProcess?.(process))
  }

  /** Records an event that the spool does not hold. `after` is the offset of the last spool record before it. */
  note(event: UIEvent, after: number): UIEvent {
    this.#try(() => this.#notes?.add({ after, event }))
    return event
  }

  /**
   * Call this only after the end of the turn was read: until then a restarted server needs the files to emit the same
   * events.
   */
  async forget(): Promise<void> {
    const notes = this.#notes
    this.#notes = null
    await notes?.remove().catch((error: unknown) => this.#untraced(error))
  }

  #try(step: () => unknown): void {
    try {
      step()
    } catch (error) {
      this.#untraced(error)
    }
  }

  #untraced(error: unknown): void {
    this.#options.log.write('error', 'turn:untraced', { error: String(error) })
  }
}

/** An event that did not come from the spool, and its position among the spool's records. */
export interface TurnNote {
  /** Offset of the last spool record before it; -1 if there was none. */
  after: number
  event: UIEvent
}

interface NotesPlace {
  spoolPath: string
  turnId: string
}

/**
 * A file beside the spool while a turn runs, so that a restarted server emits the same events. There is one for each
 * turn, because a kept process has one spool for all its turns.
 */
export class TurnNotes {
  readonly #path: string

  constructor({ spoolPath, turnId }: NotesPlace) {
    this.#path = `${spoolPath}.${turnId.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)}.notes`
  }

  /** Synchronous, so that the note is in the file even if this process dies in the next moment. */
  facts(facts: TurnFacts): void {
    this.#append({ facts })
  }

  add(note: TurnNote): void {
    this.#append(note)
  }

  /** Reads the notes that can be parsed. Unreadable ones are left out: most of a turn can be restored without them. */
  async read(): Promise<{ facts: TurnFacts; notes: TurnNote[] }> {
    const lines = (await readText(this.#path)).split('\n').map(parse)
    const { facts } = lines.find(line => isObject(line.facts)) ?? {}
    return { facts: isObject(facts) ? facts : {}, notes: lines.flatMap(asNote) }
  }

  remove(): Promise<void> {
    return rm(this.#path, { force: true })
  }

  #append(line: object): void {
    const fd = openSync(this.#path, APPEND, PRIVATE_FILE_MODE)
    try {
      writeSync(fd, `${JSON.stringify(line)}\n`)
    } finally {
      closeSync(fd)
    }
  }
}

/** Removes and returns the notes that belong before the record at that offset, in order. */
export function recall(notes: TurnNote[], offset: number): UIEvent[] {
  const count = notes.findIndex(({ after }) => after >= offset)
  return notes.splice(0, count < 0 ? notes.length : count).map(({ event }) => event)
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants
/** Without O_NONBLOCK a FIFO that an agent put there would stop the server. */
const APPEND = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK
const PRIVATE_FILE_MODE = 0o600

async function readText(path: string): Promise<string> {
  const place = { root: dirname(path), path: basename(path) }
  const read = await readTextCarefully({ ...place, links: 'none', maxBytes: MAX_BYTES })
  return read !== undefined && 'text' in read ? read.text : ''
}

const MAX_BYTES = 64 * 1024 * 1024

/** The last line can be incomplete if the process died while it wrote the line. */
function parse(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function asNote({ after, event }: Record<string, unknown>): TurnNote[] {
  const isNote = typeof after === 'number' && isObject(event) && typeof event.type === 'string'
  return isNote ? [{ after, event: event as unknown as UIEvent }] : []
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
