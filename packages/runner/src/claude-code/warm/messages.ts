import type { ClaudeEvent, UIEvent } from '@chirality/core'
import type { LiveClaude } from './live-claude.ts'

/**
 * Which messages of a turn the agent still owes an answer. One that comes while a tool runs is answered together with
 * the one before; one that comes while the model writes gets a result of its own.
 */
export class Messages {
  readonly #open = new Set<string>()
  readonly #taken = new Set<string>()

  get areAnswered(): boolean {
    return this.#open.size === 0
  }

  /** Sent, and not taken up by the agent. */
  get waiting(): string[] {
    return [...this.#open].filter(uuid => !this.#taken.has(uuid))
  }

  sent(uuid: string): void {
    this.#open.add(uuid)
  }

  /** Taken back, or never arrived. */
  withdrawn(uuid: string): void {
    this.#open.delete(uuid)
    this.#taken.delete(uuid)
  }

  see(event: ClaudeEvent): void {
    if (event.type === 'user' && event.isReplay === true && this.#open.has(String(event.uuid)))
      this.#taken.add(String(event.uuid))
    if (event.type === 'result') this.#answer(event)
  }

  #answer(result: ClaudeEvent & { type: 'result' }): void {
    const named = Array.isArray(result.user_message_uuids) ? result.user_message_uuids.map(String) : []
    const answered = [...this.#taken, ...named.filter(uuid => this.#open.has(uuid))]
    // 2.1.197 does not say which message a slash command was, and no message is behind news of a background task.
    const [oldest] = this.#open
    if (answered.length === 0 && oldest !== undefined && !isOwnInitiative(result)) answered.push(oldest)
    for (const uuid of answered) this.withdrawn(uuid)
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
 * What an agent that has answered still has running. Sub-agents can speak and ask, so the turn waits for them; a command
 * may be a server that never ends, so for those it waits only so long. What an earlier turn left does not count.
 */
export class Background {
  readonly #options: BackgroundOptions
  readonly #inherited: ReadonlySet<string>
  #timer: NodeJS.Timeout | undefined

  constructor(options: BackgroundOptions) {
    this.#options = options
    this.#inherited = new Set(options.live.shownRest.tasks.keys())
  }

  /** True when the turn is over with this event; otherwise the inbox is told when it is. */
  see(event: ClaudeEvent): boolean {
    this.clear()
    const kinds = [...this.#running().values()]
    if (kinds.length === 0 && event.type === 'result') return true
    const { live, lingerMs, backgroundMs } = this.#options
    // When the last of them has ended the agent is about to speak, or not.
    const patienceMs = kinds.length === 0 ? lingerMs : backgroundMs
    const onPatienceLost = () => void live.inbox.push({ kind: 'rested' })
    if (kinds.every(kind => kind === COMMAND)) this.#timer = setTimeout(onPatienceLost, patienceMs)
    return false
  }

  /** What is to be told of those that the turn does not wait for. */
  leave(): UIEvent[] {
    const count = this.#running().size
    if (count === 0) return []
    const { sessionId } = this.#options
    const what = count === 1 ? 'A command goes' : `${count} commands go`
    const message = `${what} on in the background. The next turn tells what became of it.`
    const data = { kind: 'background', count }
    return [{ type: 'status', sessionId, status: 'task', level: 'info', message, data }]
  }

  clear(): void {
    clearTimeout(this.#timer)
  }

  #running(): Map<string, string> {
    const { tasks } = this.#options.live.shownRest
    return new Map([...tasks].filter(([id]) => !this.#inherited.has(id)))
  }
}

const COMMAND = 'local_bash'
