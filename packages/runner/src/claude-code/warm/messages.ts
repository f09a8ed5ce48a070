import type { ClaudeEvent } from '@chirality/core'

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
