import type { ClaudeEvent, UIEvent } from '@chirality/core'
import type { LiveClaude } from './live-claude.ts'

/**
 * The messages of a turn that the agent has not answered. A message that arrives while a tool runs is answered together
 * with the one before; a message that arrives while the model writes gets a result of its own.
 */
export class Messages {
  readonly #open = new Set<string>()
  readonly #taken = new Set<string>()

  get areAnswered(): boolean {
    return this.#open.size === 0
  }

  /** The agent has begun to answer none of those that are open, and there are some. */
  get areAllWaiting(): boolean {
    return this.#open.size > 0 && this.#taken.size === 0
  }

  /** Sent, but not taken up by the agent. */
  get waiting(): string[] {
    return [...this.#open].filter(uuid => !this.#taken.has(uuid))
  }

  sent(uuid: string): void {
    this.#open.add(uuid)
  }

  /** Withdrawn, or never received. */
  withdrawn(uuid: string): void {
    this.#open.delete(uuid)
    this.#taken.delete(uuid)
  }

  /** The messages that this event shows to have been read. */
  see(event: ClaudeEvent): string[] {
    if (event.type === 'result') return this.#answer(event)
    const uuid = event.type === 'user' && event.isReplay === true ? String(event.uuid) : undefined
    if (uuid === undefined || !this.#open.has(uuid) || this.#taken.has(uuid)) return []
    this.#taken.add(uuid)
    return [uuid]
  }

  #answer(result: ClaudeEvent & { type: 'result' }): string[] {
    const named = Array.isArray(result.user_message_uuids) ? result.user_message_uuids.map(String) : []
    const answered = [...this.#taken, ...named.filter(uuid => this.#open.has(uuid))]
    // 2.1.197 does not name the message of a slash command, and a background task's notification has no message.
    const [oldest] = this.#open
    if (answered.length === 0 && oldest !== undefined && !isOwnInitiative(result)) answered.push(oldest)
    const read = answered.filter(uuid => !this.#taken.has(uuid))
    for (const uuid of answered) this.withdrawn(uuid)
    return read
  }
}

function isOwnInitiative({ origin }: ClaudeEvent & { type: 'result' }): boolean {
  return (origin as { kind?: unknown } | null | undefined)?.kind === 'task-notification'
}

interface BackgroundOptions {
  live: LiveClaude
  sessionId: string
  lingerMs: number
  backgroundMs: number
}

/**
 * The background tasks of an agent that has answered. The turn waits for sub-agents, because they can send messages and
 * permission requests; it waits for commands only for a limited time, because one may be a server that never exits.
 * Tasks of earlier turns do not count.
 */
export class Background {
  readonly #options: BackgroundOptions
  readonly #inherited: ReadonlySet<string>
  #timer: NodeJS.Timeout | undefined

  constructor(options: BackgroundOptions) {
    this.#options = options
    this.#inherited = new Set(options.live.shownRest.tasks.keys())
  }

  /** True if this event ends the turn; otherwise `rested` is pushed to the inbox later. */
  see(event: ClaudeEvent): boolean {
    this.clear()
    const kinds = [...this.#running().values()]
    if (kinds.length === 0 && event.type === 'result') return true
    const { lingerMs, backgroundMs } = this.#options
    // When the last task has ended, the agent may or may not send another message.
    const patienceMs = kinds.length === 0 ? lingerMs : backgroundMs
    if (kinds.every(kind => kind === COMMAND)) this.#waitFor(patienceMs)
    return false
  }

  /** An agent that has answered, and has a message of which it says nothing: `rested` is pushed when it stays silent. */
  seeSilence(): void {
    this.clear()
    this.#waitFor(this.#options.lingerMs)
  }

  /** The notice about the tasks that the turn does not wait for. */
  leave(): UIEvent[] {
    const count = this.#running().size
    if (count === 0) return []
    const { sessionId } = this.#options
    const what = count === 1 ? 'A command goes' : `${count} commands go`
    const message = `${what} on in the background. The agent tells what becomes of it.`
    const data = { kind: 'background', count }
    return [{ type: 'status', sessionId, status: 'task', level: 'info', message, data }]
  }

  clear(): void {
    clearTimeout(this.#timer)
  }

  #waitFor(patienceMs: number): void {
    const { inbox } = this.#options.live
    this.#timer = setTimeout(() => void inbox.push({ kind: 'rested' }), patienceMs)
  }

  #running(): Map<string, string> {
    const { tasks } = this.#options.live.shownRest
    return new Map([...tasks].filter(([id]) => !this.#inherited.has(id)))
  }
}

const COMMAND = 'local_bash'
