import type { HarnessQuery, Session, TurnEndEvent, TurnEndReason, UIEvent } from '@chirality/core'
import {
  type CodexAppServerTranslator,
  createCodexAppServerTranslator,
  HarnessError,
  parseCodexEvent,
  unreachable,
} from '@chirality/core'
import type { AsyncQueue } from '../async-queue.ts'
import type { Ask } from '../turn/ask.ts'
import { startFailure } from '../turn/start-failure.ts'
import {
  failed,
  lostSession,
  resumeFailed,
  type StopReason,
  stalled,
  stopped,
  turnStart,
} from '../turn/turn-events.ts'
import type { AppServerLease } from './app-server-pool.ts'
import { CODEX, HARNESS_ID } from './config.ts'
import type { CodexInput } from './input.ts'
import { type OpenThread, openThread } from './open-thread.ts'
import type { CodexPermissions } from './permissions.ts'
import type { ThreadMessage } from './thread-news.ts'
import { ThreadTurn, type ThreadTurnItem } from './thread-turn.ts'

export interface AppServerTurnOptions {
  session: Session
  query: HarnessQuery
  lease: AppServerLease
  input: CodexInput
  permissions: CodexPermissions
  /** `mcp_servers` and the like, for the thread. */
  threadConfig: Record<string, unknown>
  decide?: Ask
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
  async kill(): Promise<void> {
    const { lease } = this.#options
    this.#stopReason = 'killed'
    if (lease.turns() > 1) this.#turn?.interrupt()
    else await lease.server.stop({ interruptGraceMs: 0 })
  }

  async steer(text: string): Promise<boolean> {
    return (await this.#turn?.steer(text)) ?? false
  }

  /** Returns the turn's end, to be told when all that was made for the turn is gone. */
  async *events(): AsyncGenerator<UIEvent, TurnEndEvent> {
    const startedAt = performance.now()
    const { session, input, lease } = this.#options
    const open = await this.#open()
    try {
      yield turnStart(session.id, { promptText: input.text, attachments: input.images.length })
      const reason = open && !this.#stopReason ? yield* this.#run(open) : yield* this.#stoppedEarly()
      const durationMs = Math.round(performance.now() - startedAt)
      return { type: 'turn:end', sessionId: session.id, reason, durationMs }
    } finally {
      if (open) lease.server.news.leave(open.thread.id)
    }
  }

  /** Null when the turn was stopped meanwhile. */
  async #open(): Promise<Opened | null> {
    const { query, lease, permissions, threadConfig } = this.#options
    try {
      const thread = await openThread(lease.server, { query, permissions, config: threadConfig })
      const news = lease.server.news.listen(thread.id)
      if (news) return { thread, news }
    } catch (error) {
      if (this.#stopReason) return null
      throw startFailure(error, CODEX)
    }
    const message = `The Codex thread ${query.resumeSessionId} has a turn running in another session.`
    throw new HarnessError(message, 'busy', HARNESS_ID)
  }

  async *#run({ thread, news }: Opened): AsyncGenerator<UIEvent, TurnEndReason> {
    const { session, lease, query } = this.#options
    if (thread.lostId !== undefined) yield* lostThread(session.id, thread.lostId)
    yield this.#init(thread)
    const translator = createCodexAppServerTranslator({
      sessionId: session.id,
      threadId: thread.id,
      expectsJson: query.outputSchema !== undefined,
    })
    const turn = new ThreadTurn({ ...this.#options, server: lease.server, thread, news })
    this.#turn = turn
    // Asked for while the first events were told.
    if (this.#stopReason) return yield* this.#stoppedEarly()
    let failure: unknown
    try {
      for await (const item of turn.items()) yield* this.#show(item, translator, turn)
    } catch (error) {
      failure = error
    }
    yield* translator.end()
    if (translator.outcome) return this.#reasonOf(translator.outcome.reason)
    return yield* this.#withoutResult(failure)
  }

  *#show(item: ThreadTurnItem, translator: CodexAppServerTranslator, turn: ThreadTurn): Generator<UIEvent> {
    switch (item.kind) {
      case 'message': {
        const events = translator.translate(parseCodexEvent(item.raw))
        let isShown = false
        for (const event of events) {
          if (this.#isTold(event)) yield this.#inOurWords(event)
          if (event.type !== 'permission:request' || !item.request) continue
          isShown = true
          void turn.decide(event, item.request)
        }
        if (item.request && !isShown) turn.refuse(item.request)
        return
      }
      case 'resolved':
        translator.answered(item.event.requestId)
        yield item.event
        return
      case 'idle':
        yield stalled(this.#options.session.id, item.idleMs)
        return
      default:
        unreachable(item)
    }
  }

  #isTold(event: UIEvent): boolean {
    // Told once for each turn, by us: on a loaded thread Codex does not tell it again.
    if (event.type === 'session:init') return false
    if (this.#options.query.includePartialMessages !== false) return true
    return event.type !== 'chat:delta' && !(event.type === 'chat:thinking' && !event.final)
  }

  /** Codex knows only that it was interrupted, not why. */
  #inOurWords(event: UIEvent): UIEvent {
    if (event.type !== 'session:error' || event.code !== 'interrupted' || !this.#stopReason) return event
    return { ...event, ...stopped(event.sessionId, this.#stopReason) }
  }

  /** A stop that came too late to matter does not undo the answer. */
  #reasonOf(outcome: TurnEndReason): TurnEndReason {
    return outcome === 'completed' ? outcome : (this.#stopReason ?? outcome)
  }

  *#withoutResult(failure: unknown): Generator<UIEvent, TurnEndReason> {
    const { session, lease } = this.#options
    if (this.#stopReason) return yield* this.#stoppedEarly()
    if (lease.server.isUsable) {
      yield failed(session.id, failure)
      return 'failed'
    }
    yield failed(session.id, new Error('Codex ended before the turn did. The next turn starts it again.'))
    return 'crashed'
  }

  *#stoppedEarly(): Generator<UIEvent, TurnEndReason> {
    const reason = this.#stopReason ?? 'interrupted'
    yield stopped(this.#options.session.id, reason)
    return reason
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
}

interface Opened {
  thread: OpenThread
  news: AsyncQueue<ThreadMessage>
}

function* lostThread(sessionId: string, lostId: string): Generator<UIEvent> {
  yield lostSession(sessionId, lostId, CODEX.name)
  yield resumeFailed(sessionId, lostId)
}
