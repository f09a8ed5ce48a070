import { lineOf, type UIEvent } from '@chirality/core'
import { pagesBefore } from '../log/pages.ts'
import type { SessionLog } from '../log/session-log.ts'

/** What an agent did and was told after the last copy of its conversation and files. */
export interface Lost {
  /** Calls of tools, in short. */
  calls: string[]
  messages: string[]
  /** Requests that a person had not answered, in short. Their calls were not made. */
  open: string[]
}

export const NOTHING_LOST: Lost = { calls: [], messages: [], open: [] }

/** What came after an event of a log, and the message and the open requests of the turn that was at work at its end. */
export async function lostAfter(log: SessionLog, seq: number): Promise<Lost> {
  const lost = new LostEvents(seq)
  for await (const page of pagesBefore(log, log.lastSeq + 1))
    for (const { seq: at, event } of page) if (!lost.add(at, event)) return lost.all
  return lost.all
}

/** Reads a log from its end. */
class LostEvents {
  readonly #seq: number
  readonly #calls: string[] = []
  readonly #messages: string[] = []
  readonly #open: string[] = []
  /** Most agents begin a call without its input, which follows. */
  readonly #inputs = new Map<string, Record<string, unknown>>()
  /** The inputs that ran in place of the requested ones. */
  readonly #edited = new Map<string, Record<string, unknown>>()
  readonly #resolved = new Set<string>()
  readonly #denied = new Set<string>()
  readonly #unmade = new Set<string>()
  /** Whether a turn was at work at the end; undefined until that is known. */
  #isOpen: boolean | undefined

  constructor(seq: number) {
    this.#seq = seq
  }

  get all(): Lost {
    return { calls: shortened(this.#calls), messages: this.#messages, open: shortened(this.#open) }
  }

  /** False if all is known. */
  add(at: number, event: UIEvent): boolean {
    const isLost = at > this.#seq
    if (!isLost && this.#isOpen !== undefined) return false
    switch (event.type) {
      case 'tool:input':
        if (event.input) this.#inputs.set(event.toolUseId, event.input)
        break
      case 'tool:start': {
        if (!isLost || this.#unmade.has(event.toolUseId)) break
        const edited = this.#edited.get(event.toolUseId)
        const input = edited ?? { ...event.input, ...this.#inputs.get(event.toolUseId) }
        this.#calls.unshift(lineOf({ ...event, input }) ?? event.name)
        break
      }
      case 'permission:resolved':
        this.#resolved.add(event.requestId)
        if (event.outcome === 'denied') this.#denied.add(event.requestId)
        if (event.updatedInput && event.toolUseId) this.#edited.set(event.toolUseId, event.updatedInput)
        break
      case 'permission:request':
        if (this.#denied.has(event.requestId) && event.toolUseId !== undefined)
          this.#unmade.add(event.toolUseId)
        if (this.#isOpen === undefined && !this.#resolved.has(event.requestId)) {
          this.#open.unshift(lineOf(event) ?? event.toolName)
          if (event.toolUseId !== undefined) this.#unmade.add(event.toolUseId)
        }
        break
      case 'turn:start':
        if (isLost || this.#isOpen === undefined) this.#messages.unshift(event.message)
        this.#isOpen ??= true
        break
      case 'turn:end':
        this.#isOpen ??= false
        break
    }
    return true
  }
}

function shortened(lines: readonly string[]): string[] {
  const short = lines.slice(0, MAX_LINES).map(line => line.slice(0, MAX_CHARS))
  const more = lines.length - short.length
  return more > 0 ? [...short, `and ${more} more`] : short
}

const MAX_LINES = 10
const MAX_CHARS = 100
