import {
  type CodexAppServerTranslator,
  createCodexAppServerTranslator,
  type PermissionMode,
  parseCodexEvent,
  type Session,
  type TurnEndReason,
  type UIEvent,
} from '@chirality/core'
import { lostSession, resumeFailed } from '../../turn/turn-events.ts'
import type { TurnFacts } from '../../turn/turn-program.ts'
import type { NewsPlace } from '../app-server/thread-message.ts'
import { CODEX } from '../config.ts'
import { CODEX_ID } from '../descriptor.ts'

/** The facts that are needed to restore a turn of an app-server from the spool. */
export interface ThreadTurnFacts extends TurnFacts {
  threadId: string
  model: string
  cwd: string
  version?: string
  permissionMode?: PermissionMode
  /** The id of the requested thread that no longer exists. */
  lostId?: string
  expectsJson?: boolean
  /** Default true. */
  partialMessages?: boolean
  news?: NewsPlace
}

/** A turn of a thread as UI events, from its first message to its last. */
export class ThreadView {
  readonly #sessionId: string
  readonly #facts: ThreadTurnFacts
  readonly #translator: CodexAppServerTranslator

  constructor(session: Session, facts: ThreadTurnFacts) {
    const { threadId, expectsJson } = facts
    this.#sessionId = session.id
    this.#facts = facts
    this.#translator = createCodexAppServerTranslator({ sessionId: session.id, threadId, expectsJson })
  }

  /** Emitted by the view once for each turn: Codex does not report it again for a loaded thread. */
  *opening(): Generator<UIEvent> {
    const sessionId = this.#sessionId
    const { threadId, model, cwd, version, permissionMode, lostId } = this.#facts
    if (lostId !== undefined) {
      yield lostSession(sessionId, lostId, CODEX.name)
      yield resumeFailed(sessionId, lostId)
    }
    yield {
      type: 'session:init',
      sessionId,
      claudeSessionId: threadId,
      model,
      tools: [],
      harness: CODEX_ID,
      cwd,
      ...(version ? { version } : {}),
      ...(permissionMode ? { permissionMode } : {}),
    }
  }

  /** Translates a message of the thread. */
  show(raw: unknown): UIEvent[] {
    return this.#translator.translate(parseCodexEvent(raw)).filter(event => this.#isTold(event))
  }

  /** The view has already emitted it, so Codex's confirmation is dropped. */
  answered(requestId: string): void {
    this.#translator.answered(requestId)
  }

  /** The output is over: returns the events that close open messages and tool calls. */
  end(): UIEvent[] {
    return this.#translator.end()
  }

  /** Null while there is no result. */
  get outcome(): TurnEndReason | null {
    return this.#translator.outcome?.reason ?? null
  }

  #isTold(event: UIEvent): boolean {
    if (event.type === 'session:init') return false
    if (this.#facts.partialMessages !== false) return true
    return event.type !== 'chat:delta' && !(event.type === 'chat:thinking' && !event.final)
  }
}
