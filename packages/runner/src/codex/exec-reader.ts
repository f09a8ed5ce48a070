import {
  type CodexTranslator,
  createCodexExecTranslator,
  type NdjsonRecord,
  type UIEvent,
} from '@chirality/core'
import type { ReaderOptions, TurnOutcome, TurnReader } from '../turn/turn-program.ts'
import type { ThreadFacts } from './thread-facts.ts'

export interface ExecReaderOptions extends ReaderOptions {
  before: ThreadFacts
  lingerMs?: number
}

/** What one `codex exec --json` prints. */
export class ExecReader implements TurnReader {
  readonly #options: ExecReaderOptions
  readonly #translator: CodexTranslator
  #linger: NodeJS.Timeout | undefined

  constructor(options: ExecReaderOptions) {
    const { sessionId, turnId, query, before } = options
    this.#options = options
    this.#translator = createCodexExecTranslator({
      sessionId,
      turnId,
      usageBefore: before.usage,
      agent: { model: query.model ?? before.model, cwd: query.cwd, permissionMode: query.permissionMode },
      expectsJson: query.outputSchema !== undefined,
    })
  }

  read(record: NdjsonRecord): UIEvent[] {
    const events = this.#translator.translateRecord(record)
    clearTimeout(this.#linger)
    const { lingerMs = LINGER_MS, onLinger } = this.#options
    if (this.rested) this.#linger = setTimeout(onLinger, lingerMs)
    return events
  }

  end(): UIEvent[] {
    return this.#translator.end()
  }

  close(): void {
    clearTimeout(this.#linger)
  }

  get outcome(): TurnOutcome | null {
    return this.#translator.outcome
  }

  get answered(): boolean {
    return this.#translator.outcome !== null
  }

  get rested(): boolean {
    return this.answered
  }
}

/** MCP servers say good-bye after the answer; the session is blocked meanwhile. */
const LINGER_MS = 10_000
