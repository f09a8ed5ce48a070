import type { UIEvent } from '@chirality/core'

/** Knows when an agent can be stopped without cutting a tool short. */
export class SafePoint {
  readonly #atWork = new Set<string>()
  /** Calls that run a sub-agent: what counts there is what the sub-agent does. */
  readonly #subAgents = new Set<string>()

  note(event: UIEvent): void {
    if ('parentToolUseId' in event && event.parentToolUseId !== undefined) {
      this.#subAgents.add(event.parentToolUseId)
    }
    if (event.type === 'tool:start') this.#atWork.add(event.toolUseId)
    if (event.type === 'tool:result') this.#atWork.delete(event.toolUseId)
  }

  get isSafe(): boolean {
    return [...this.#atWork].every(id => this.#subAgents.has(id))
  }
}
