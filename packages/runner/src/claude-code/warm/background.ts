import type { ClaudeEvent, UIEvent } from '@chirality/core'
import type { LiveClaude } from './live-claude.ts'

export interface BackgroundOptions {
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
