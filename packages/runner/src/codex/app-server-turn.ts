import type { HarnessQuery, HarnessTurnOpts, Session, TurnEndReason, UIEvent } from '@chirality/core'
import {
  type CodexAppServerTranslator,
  createCodexAppServerTranslator,
  parseCodexEvent,
  unreachable,
} from '@chirality/core'
import { startFailure } from '../turn/start-failure.ts'
import { failed, lostSession, resumeFailed, type StopReason, stalled, stopped } from '../turn/turn-events.ts'
import type { AppServerLease } from './app-server-pool.ts'
import { CODEX, HARNESS_ID } from './config.ts'
import type { CodexInput } from './input.ts'
import { type OpenThread, openThread } from './open-thread.ts'
import type { CodexPermissions } from './permissions.ts'
import { ThreadTurn, type ThreadTurnItem } from './thread-turn.ts'

export interface AppServerTurnOptions {
  session: Session
  query: HarnessQuery
  lease: AppServerLease
  input: CodexInput
  permissions: CodexPermissions
  /** `mcp_servers` and the like, for the thread. */
  threadConfig: Record<string, unknown>
  decide?: HarnessTurnOpts['decide']
  stallMs: number
  interruptGraceMs: number
}

/** A turn of a session on an app-server, as UI events. The process goes on living, so none of them is `process:exit`. */
export class AppServerTurn {
  readonly #options: AppServerTurnOptions
  #turn: ThreadTurn | null = null
  #stopReason: StopReason | null = null

  constructor(options: AppServerTurnOptions) {
    this.#options = options
  }

  interrupt(reason: StopReason = 'interrupted'): void {
    this.#stopReason ??= reason
    this.#turn?.interrupt()
  }

  /** Only when no other session uses the server may it be ended with the turn. */
  kill(): void {
    const { lease } = this.#options
    this.#stopReason = 'killed'
    if (lease.turns() > 1) this.#turn?.interrupt()
    else void lease.server.stop({ interruptGraceMs: 0 })
  }

  async steer(text: string): Promise<void> {
    await this.#turn?.steer(text)
  }

  async *events(): AsyncGenerator<UIEvent> {
    const startedAt = performance.now()
    const { session, input } = this.#options
    const thread = await this.#open()
    const attachments = input.images.length
    yield {
      type: 'turn:start',
      sessionId: session.id,
      message: input.text,
      ...(attachments > 0 ? { attachments } : {}),
    }
    if (thread.lostId !== undefined) yield* lostThread(session.id, thread.lostId)
    yield this.#init(thread)
    const reason = yield* this.#run(thread)
    const durationMs = Math.round(performance.now() - startedAt)
    yield { type: 'turn:end', sessionId: session.id, reason, durationMs }
  }

  async #open(): Promise<OpenThread> {
    const { query, lease, permissions, threadConfig } = this.#options
    try {
      return await openThread(lease.server, { query, permissions, config: threadConfig })
    } catch (error) {
      throw startFailure(error, CODEX)
    }
  }

  async *#run(thread: OpenThread): AsyncGenerator<UIEvent, TurnEndReason> {
    const { session, lease } = this.#options
    if (this.#stopReason) {
      yield stopped(session.id, this.#stopReason)
      return this.#stopReason
    }
    const translator = createCodexAppServerTranslator({
      sessionId: session.id,
      threadId: thread.id,
      expectsJson: this.#options.query.outputSchema !== undefined,
    })
    const turn = new ThreadTurn({ ...this.#options, server: lease.server, thread })
    this.#turn = turn
    try {
      await turn.start()
      for await (const item of turn.items()) yield* this.#show(item, translator, turn)
      yield* translator.end()
    } catch (error) {
      yield failed(session.id, error)
      return this.#stopReason ?? 'failed'
    }
    if (!translator.outcome) yield this.#noResult()
    return this.#stopReason ?? translator.outcome?.reason ?? 'crashed'
  }

  *#show(item: ThreadTurnItem, translator: CodexAppServerTranslator, turn: ThreadTurn): Generator<UIEvent> {
    const sessionId = this.#options.session.id
    switch (item.kind) {
      case 'message':
        for (const event of translator.translate(parseCodexEvent(item.raw))) {
          // Told once for each turn, by us: on a loaded thread Codex does not tell it again.
          if (event.type === 'session:init') continue
          yield event
          if (event.type === 'permission:request') void turn.decide(event)
        }
        return
      case 'resolved': {
        const { requestId, decision, by } = item
        translator.answered(requestId)
        const isAllowed = decision.behavior === 'allow'
        const message = isAllowed ? {} : { message: decision.message }
        yield {
          type: 'permission:resolved',
          sessionId,
          requestId,
          outcome: isAllowed ? 'allowed' : 'denied',
          by,
          ...message,
        }
        return
      }
      case 'idle':
        yield stalled(sessionId, item.idleMs)
        return
      default:
        unreachable(item)
    }
  }

  #init(thread: OpenThread): UIEvent {
    const { session, lease, query } = this.#options
    const { version } = lease.server
    return {
      type: 'session:init',
      sessionId: session.id,
      claudeSessionId: thread.id,
      model: thread.model,
      tools: [],
      harness: HARNESS_ID,
      cwd: query.cwd,
      ...(version ? { version } : {}),
      ...(query.permissionMode ? { permissionMode: query.permissionMode } : {}),
    }
  }

  #noResult(): UIEvent {
    const sessionId = this.#options.session.id
    if (this.#stopReason) return stopped(sessionId, this.#stopReason)
    return failed(sessionId, new Error('Codex ended before the turn did. The next turn starts it again.'))
  }
}

function* lostThread(sessionId: string, lostId: string): Generator<UIEvent> {
  yield lostSession(sessionId, lostId, CODEX.name)
  yield resumeFailed(sessionId, lostId)
}
