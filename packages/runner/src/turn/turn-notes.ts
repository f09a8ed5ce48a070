import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import type { UIEvent } from '@chirality/core'

/** What a reader has to know and the agent's output does not say. JSON. */
export type TurnFacts = Record<string, unknown>

/** An event that did not come out of the spool, and where in the spool it was told. */
export interface TurnNote {
  /** Offset of the last record before it; -1 when there was none. */
  after: number
  event: UIEvent
}

export interface NotesPlace {
  spoolPath: string
  turnId: string
}

/**
 * Kept beside the spool while a turn runs, so that a later Chirality tells the same events from it. One for each turn:
 * a process that is kept between turns has one spool for all of them.
 */
export class TurnNotes {
  readonly #path: string

  constructor({ spoolPath, turnId }: NotesPlace) {
    this.#path = `${spoolPath}.${turnId.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)}.notes`
  }

  /** Written at once: it has to be there when we are gone in the next moment. */
  facts(facts: TurnFacts): void {
    this.#append({ facts })
  }

  add(note: TurnNote): void {
    this.#append(note)
  }

  /** As far as they can be read: most of a turn can be told without. */
  async read(): Promise<{ facts: TurnFacts; notes: TurnNote[] }> {
    const lines = (await readText(this.#path)).split('\n').map(parse)
    const { facts } = lines.find(line => isObject(line.facts)) ?? {}
    return { facts: isObject(facts) ? facts : {}, notes: lines.flatMap(asNote) }
  }

  remove(): Promise<void> {
    return rm(this.#path, { force: true })
  }

  #append(line: object): void {
    const fd = openSync(this.#path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, PRIVATE_FILE_MODE)
    try {
      writeSync(fd, `${JSON.stringify(line)}\n`)
    } finally {
      closeSync(fd)
    }
  }
}

/** Takes from the notes what was told before the record at that offset, in order. */
export function recall(notes: TurnNote[], offset: number): UIEvent[] {
  const count = notes.findIndex(({ after }) => after >= offset)
  return notes.splice(0, count < 0 ? notes.length : count).map(({ event }) => event)
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants
const PRIVATE_FILE_MODE = 0o600

async function readText(path: string): Promise<string> {
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => null)
  try {
    return (await handle?.readFile('utf8')) ?? ''
  } catch {
    return ''
  } finally {
    await handle?.close()
  }
}

/** The last line is cut where we died while writing it. */
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
