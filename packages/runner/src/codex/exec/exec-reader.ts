import {
  type CodexTranslator,
  createCodexExecTranslator,
  type NdjsonRecord,
  type PermissionMode,
  type StatusEvent,
  type UIEvent,
  type UsageInfo,
} from '@chirality/core'
import type { ReaderOptions, TurnFacts, TurnOutcome, TurnReader } from '../../turn/turn-program.ts'
import type { CodexSandbox } from '../options/permissions.ts'

/** Facts that `exec` does not print. */
export interface ExecFacts extends TurnFacts {
  model?: string
  cwd?: string
  permissionMode?: PermissionMode
  expectsJson?: boolean
  /** The thread's tokens before the turn: `exec` prints only the total. */
  usageBefore?: UsageInfo
  /** The sandbox, if the user wanted to be asked and cannot be. */
  unasked?: CodexSandbox
}

export interface ExecReaderOptions extends ReaderOptions {
  lingerMs?: number
}

/** Reads the output of one `codex exec --json`. */
export class ExecReader implements TurnReader {
  readonly #options: ExecReaderOptions
  readonly #translator: CodexTranslator
  #linger: NodeJS.Timeout | undefined
  #hasBegun = false

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
    return [...this.#opening(), ...events]
  }

  /** Emitted here and not by the turn, so that an adopted turn emits it too. */
  #opening(): UIEvent[] {
    const { unasked } = this.#options.facts as ExecFacts
    if (this.#hasBegun || unasked === undefined) return []
    this.#hasBegun = true
    return [cannotAsk(this.#options.sessionId, unasked)]
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

function cannotAsk(sessionId: string, sandbox: CodexSandbox): StatusEvent {
  const may = sandbox === 'read-only' ? 'it can only read' : `its sandbox is ${sandbox}`
  const message = `This Codex has no app-server that answers, and without one it can ask nobody. In this turn ${may}; what would need leave is refused.`
  return { type: 'status', sessionId, status: 'notice', level: 'warn', message, data: { sandbox } }
}

/** MCP servers shut down after the answer; the session is blocked meanwhile. */
const LINGER_MS = 10_000
