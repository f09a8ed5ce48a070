import type { NdjsonRecord, UIEvent } from '@chirality/core'
import type { ReaderOptions, TurnOutcome, TurnReader } from '@chirality/runner'
import { META } from './descriptor.ts'

/** The lines of one process as UI events. */
export class LineReader implements TurnReader {
  outcome: TurnOutcome | null = null
  readonly #options: ReaderOptions
  #messages = 0

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  read(record: NdjsonRecord): UIEvent[] {
    const { sessionId, turnId } = this.#options
    const messageId = `${turnId}-${this.#messages}`
    const line = record.kind === 'json' ? asObject(record.value) : { type: record.kind }
    const text = String(line.text)
    const toolUseId = String(line.id)
    switch (line.type) {
      case 'hello': {
        const facts = { claudeSessionId: String(line.session), model: String(line.model), tools: [] }
        return [{ type: 'session:init', sessionId, harness: META.id, ...facts }]
      }
      case 'delta':
        return [{ type: 'chat:delta', sessionId, text, messageId }]
      case 'say':
        this.#messages += 1
        return [{ type: 'chat:message', sessionId, text, messageId }]
      case 'call':
        return [
          { type: 'tool:start', sessionId, toolUseId, name: String(line.name), input: asObject(line.input) },
        ]
      case 'result': {
        const isError = line.failed === true
        return [{ type: 'tool:result', sessionId, toolUseId, content: String(line.output), isError }]
      }
      case 'done':
        this.outcome = { reason: 'completed' }
        return [
          { type: 'chat:complete', sessionId, text },
          { type: 'session:complete', sessionId, usage: { input_tokens: 0, output_tokens: 0 } },
        ]
      case 'failed':
        this.outcome = { reason: 'failed', errorCode: 'api_error' }
        return [{ type: 'session:error', sessionId, error: String(line.message), code: 'api_error' }]
      default: {
        const raw = record.kind === 'json' ? record.value : record
        return [{ type: 'native:unknown', sessionId, harness: META.id, nativeType: String(line.type), raw }]
      }
    }
  }

  get answered(): boolean {
    return this.outcome !== null
  }

  get rested(): boolean {
    return this.answered
  }

  end(): UIEvent[] {
    return []
  }

  close(): void {}
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
