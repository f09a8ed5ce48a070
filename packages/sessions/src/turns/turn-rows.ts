import type { UIEvent } from '@chirality/core'
import type { HarnessLog } from '../harness-log/harness-log.ts'

/**
 * Writes the rows about a turn that the specification requires to harness.log. The harness writes those about
 * processes.
 */
export class TurnRows {
  readonly #log: HarnessLog
  readonly #sessionId: string
  readonly #startedAt = performance.now()
  /** Names of the running tools; those that are not logged yet have no input so far. */
  readonly #tools = new Map<string, { name: string; logged: boolean }>()
  /** The usage of the turn so far. */
  readonly #costUsd: () => number | null
  #inputTokens = 0
  #outputTokens = 0

  constructor(log: HarnessLog, sessionId: string, costUsd: () => number | null) {
    this.#costUsd = costUsd
    this.#log = log
    this.#sessionId = sessionId
  }

  note(event: UIEvent): void {
    switch (event.type) {
      case 'session:init': {
        const { claudeSessionId, model, tools } = event
        return this.#log.write(this.#sessionId, { event: 'session:init', claudeSessionId, model, tools })
      }
      case 'tool:start':
        this.#tools.set(event.toolUseId, { name: event.name, logged: false })
        if (Object.keys(event.input).length > 0) this.#invoked(event.toolUseId, event.input)
        return
      case 'tool:input':
        if (event.input !== undefined) this.#invoked(event.toolUseId, event.input)
        return
      case 'tool:result':
        return this.#result(event.toolUseId, event.isError, event.content.length)
      case 'session:complete':
      case 'session:error':
        this.#inputTokens += event.usage?.input_tokens ?? 0
        this.#outputTokens += event.usage?.output_tokens ?? 0
        if (event.type === 'session:error')
          this.#log.write(this.#sessionId, { event: 'error', message: `${event.code}: ${event.error}` })
        return
      case 'turn:end':
        return this.#ended()
    }
  }

  #invoked(toolUseId: string, input: unknown): void {
    const tool = this.#tools.get(toolUseId)
    if (tool === undefined || tool.logged) return
    tool.logged = true
    this.#log.write(this.#sessionId, { event: 'tool:invoke', toolName: tool.name, input })
  }

  #result(toolUseId: string, isError: boolean, contentLength: number): void {
    this.#invoked(toolUseId, {})
    const toolName = this.#tools.get(toolUseId)?.name ?? 'unknown'
    this.#tools.delete(toolUseId)
    this.#log.write(this.#sessionId, { event: 'tool:result', toolName, isError, contentLength })
  }

  #ended(): void {
    this.#log.write(this.#sessionId, {
      event: 'turn:complete',
      costUsd: this.#costUsd(),
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      durationMs: Math.round(performance.now() - this.#startedAt),
    })
  }
}
