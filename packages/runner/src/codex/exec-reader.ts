import {
  type CodexTranslator,
  createCodexExecTranslator,
  type NdjsonRecord,
  type PermissionMode,
  type UIEvent,
  type UsageInfo,
} from '@chirality/core'
import type { TurnFacts } from '../turn/turn-notes.ts'
import type { ReaderOptions, TurnOutcome, TurnReader } from '../turn/turn-program.ts'

/** What `exec` does not print of itself. */
export interface ExecFacts extends TurnFacts {
  model?: string
  cwd?: string
  permissionMode?: PermissionMode
  expectsJson?: boolean
  /** What the thread had used before the turn: `exec` tells only the total. */
  usageBefore?: UsageInfo
}

export interface ExecReaderOptions extends ReaderOptions {
  lingerMs?: number
}

/** What one `codex exec --json` prints. */
export class ExecReader implements TurnReader {
  readonly #options: ExecReaderOptions
  readonly #translator: CodexTranslator
  #linger: NodeJS.Timeout | undefined

  constructor(options: ExecReaderOptions) {
    const { sessionId, turnId } = options
    const { usageBefore, model, cwd, permissionMode, expectsJson } = options.facts as ExecFacts
    this.#options = options
    const agent = { model, cwd, permissionMode }
    this.#translator = createCodexExecTranslator({ sessionId, turnId, usageBefore, agent, expectsJson })
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
