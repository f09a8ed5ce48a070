import type {
  Guard,
  HarnessQuery,
  HarnessTurnOpts,
  Session,
  TurnEndEvent,
  TurnEndReason,
  UIEvent,
} from '@chirality/core'
import { HarnessError } from '@chirality/core'
import { traceProcess } from '../process/trace-process.ts'
import { versionNotice } from '../turn/agent-version.ts'
import type { Ask } from '../turn/ask.ts'
import type { HarnessLog } from '../turn/harness-log.ts'
import { startFailure } from '../turn/start-failure.ts'
import { failed, type StopReason, stopped, turnStart } from '../turn/turn-events.ts'
import { TurnNotes } from '../turn/turn-notes.ts'
import { withAccount } from '../turn/turn-query.ts'
import type { AppServerLease } from './app-server-pool.ts'
import { CODEX, CODEX_VERSIONS, HARNESS_ID } from './config.ts'
import type { CodexInput } from './input.ts'
import { RpcError } from './json-rpc.ts'
import { type OpenThread, openThread } from './open-thread.ts'
import type { CodexPermissions } from './permissions.ts'
import type { ThreadFeed } from './thread-feed.ts'
import type { ThreadItem } from './thread-item.ts'
import { ThreadTurn } from './thread-turn.ts'
import { type ThreadTurnFacts, ThreadView } from './thread-view.ts'

export interface AppServerTurnOptions {
  session: Session
  turnId: string
  query: HarnessQuery
  lease: AppServerLease
  input: CodexInput
  permissions: CodexPermissions
  /** `mcp_servers` and the like, for the thread. */
  threadConfig: Record<string, unknown>
  log: HarnessLog
  decide?: Ask
  guard?: Guard
  onProcess?: HarnessTurnOpts['onProcess']
  stallMs: number
  interruptGraceMs: number
}

/** A turn of a session on an app-server, as UI events. The process goes on living, so none of them is `process:exit`. */
export class AppServerTurn {
  readonly lastEvent = 'turn:end'
  readonly #options: AppServerTurnOptions
  #turn: ThreadTurn | null = null
  #notes: TurnNotes | null = null
  /** Where the last message was in the spool. */
  #offset = -1
  #stopReason: StopReason | null = null
  readonly #stopping = new AbortController()

  constructor(options: AppServerTurnOptions) {
    this.#options = options
  }

  interrupt(reason: StopReason = 'interrupted'): void {
    this.#stopReason ??= reason
    this.#stopping.abort()
    this.#turn?.interrupt()
  }

  /** Only when no other session uses the server may it be ended with the turn. */
  async kill(): Promise<void> {
    const { lease } = this.#options
    this.#stopReason = 'killed'
    this.#stopping.abort()
    if (lease.turns() > 1) this.#turn?.interrupt()
    else await lease.server.stop({ interruptGraceMs: 0 })
  }

  async steer(input: CodexInput): Promise<boolean> {
    return (await this.#turn?.steer(input)) ?? false
  }

  /** Returns the turn's end, to be told when all that was made for the turn is gone. */
  async *events(): AsyncGenerator<UIEvent, TurnEndEvent> {
    const startedAt = performance.now()
    const { session, input, lease } = this.#options
    const open = await this.#open()
    try {
      if (open) await this.#trace(open)
      yield turnStart(session.id, { promptText: input.text, attachments: input.images.length })
      const reason = open && !this.#stopReason ? yield* this.#run(open) : yield* this.#stoppedEarly()
      const durationMs = Math.round(performance.now() - startedAt)
      return { type: 'turn:end', sessionId: session.id, reason, durationMs }
    } finally {
      if (open) lease.server.leave(open.thread.id)
    }
  }

  #inputFor({ lostId }: OpenThread): CodexInput {
    const { input, query } = this.#options
    if (lostId === undefined || query.account === undefined) return input
    return { ...input, text: withAccount(query.account, input.text) }
  }

  /** Its end has been told: nobody will have to find it again. */
  async forget(): Promise<void> {
    await this.#notes?.remove()
  }

  /** Null when the turn was stopped meanwhile. */
  async #open(): Promise<Opened | null> {
    const { query, lease, permissions, threadConfig } = this.#options
    const { signal } = this.#stopping
    try {
      const thread = await openThread(lease.server, { query, permissions, config: threadConfig, signal })
      const feed = lease.server.news.listen(thread.id)
      if (feed) return { thread, feed, facts: this.#factsOf(thread, feed) }
    } catch (error) {
      if (isUnanswered(error)) await this.#giveServerUp()
      if (this.#stopReason) return null
      throw startFailure(error, CODEX)
    }
    const message = `The Codex thread ${query.resumeSessionId} has a turn running in another session.`
    throw new HarnessError(message, 'busy', HARNESS_ID)
  }

  /** Whether it would ever have answered nobody knows: the next turn must not wait for it again. */
  async #giveServerUp(): Promise<void> {
    const { lease } = this.#options
    if (lease.turns() === 1) await lease.server.stop({ interruptGraceMs: 0 })
  }

  async *#run({ thread, feed, facts }: Opened): AsyncGenerator<UIEvent, TurnEndReason> {
    const { session, lease } = this.#options
    const view = new ThreadView(session, facts)
    yield* view.opening()
    const notice = this.#versionNotice()
    if (notice) yield this.#noted(notice)
    const turn = new ThreadTurn({
      ...this.#options,
      input: this.#inputFor(thread),
      sessionId: session.id,
      server: lease.server,
      thread,
      feed,
    })
    this.#turn = turn
    // Asked for while the first events were told.
    if (this.#stopReason) return yield* this.#stoppedEarly()
    let failure: unknown
    try {
      for await (const item of turn.items()) yield* this.#show(item, view, turn)
    } catch (error) {
      failure = error
    }
    yield* view.end()
    if (view.outcome) return this.#reasonOf(view.outcome)
    return yield* this.#withoutResult(failure)
  }

  *#show(item: ThreadItem, view: ThreadView, turn: ThreadTurn): Generator<UIEvent> {
    if (item.kind === 'message') this.#offset = item.offset
    else this.#noted(item.event)
    const request = item.kind === 'message' ? item.request : undefined
    let isShown = false
    for (const event of view.show(item)) {
      if (event.type === 'permission:request' && request) {
        isShown = true
        // Before it is told: whoever sees it can answer at once.
        void turn.decide(event, request)
      }
      yield this.#inOurWords(event)
    }
    if (request && !isShown) turn.refuse(request)
  }

  /** Whoever adopts the turn tells it at the same place. */
  #noted(event: UIEvent): UIEvent {
    this.#try(() => this.#notes?.add({ after: this.#offset, event }))
    return event
  }

  /** Told in the first turn of a session. */
  #versionNotice(): UIEvent | undefined {
    const { session, lease } = this.#options
    if (session.claudeSessionId !== null) return undefined
    const { version } = lease.server.features
    return versionNotice(session.id, { version, versions: CODEX_VERSIONS, name: CODEX.name })
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
    const why = lease.server.process.fault ?? 'The next turn starts it again.'
    yield failed(session.id, new Error(`Codex ended before the turn did. ${why}`))
    return 'crashed'
  }

  *#stoppedEarly(): Generator<UIEvent, TurnEndReason> {
    const reason = this.#stopReason ?? 'interrupted'
    yield stopped(this.#options.session.id, reason)
    return reason
  }

  #factsOf(thread: OpenThread, { place }: ThreadFeed): ThreadTurnFacts {
    const { lease, query } = this.#options
    return {
      threadId: thread.id,
      model: thread.model,
      cwd: query.cwd,
      version: lease.server.version ?? undefined,
      permissionMode: query.permissionMode,
      lostId: thread.lostId,
      expectsJson: query.outputSchema !== undefined,
      partialMessages: query.includePartialMessages,
      news: place,
    }
  }

  /** Before the turn is started: from then on it can be found again. */
  async #trace({ feed, facts }: Opened): Promise<void> {
    const { lease, turnId, onProcess } = this.#options
    if (!onProcess) return
    const { process } = lease.server
    const notes = new TurnNotes({ spoolPath: process.spoolPath, turnId })
    this.#notes = notes
    this.#try(() => notes.facts(facts))
    const begin = Math.min(feed.place.from, ...feed.place.unheard)
    const traced = await traceProcess(process, begin)
    const nativeSessionIds = [facts.threadId, ...feed.place.children]
    this.#try(() => onProcess({ ...traced, nativeSessionIds }))
  }

  /** Whoever cannot keep a trace loses the turn with this program, but not the turn. */
  #try(step: () => unknown): void {
    try {
      step()
    } catch (error) {
      this.#options.log.write('error', 'turn:untraced', { error: String(error) })
    }
  }
}

/** By an error of Codex it would have had a code. */
function isUnanswered(error: unknown): boolean {
  const { cause } = error instanceof HarnessError ? error : { cause: error }
  return cause instanceof RpcError && cause.code === null
}

interface Opened {
  thread: OpenThread
  feed: ThreadFeed
  facts: ThreadTurnFacts
}
