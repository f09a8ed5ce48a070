import { randomUUID } from 'node:crypto'
import type { HarnessQuery, HarnessTurnOpts, Session, TurnEndReason, UIEvent } from '@chirality/core'
import { HarnessLog } from '../turn/harness-log.ts'
import { startFailure } from '../turn/start-failure.ts'
import {
  failed,
  lostSession,
  resumeFailed,
  type StopReason,
  stopped,
  turnStart,
} from '../turn/turn-events.ts'
import { HARNESS_ID, MESSAGES_API, type MessagesApiContext } from './config.ts'
import { type Conversation, openConversation } from './conversation.ts'
import { NativeRun } from './native-run.ts'
import { type PreparedTurn, prepareTurn } from './prepare-turn.ts'
import { RawLog } from './raw-log.ts'
import { MessagesApiTranslator } from './translator.ts'

export interface MessagesApiTurnOptions {
  session: Session
  query: HarnessQuery
  opts: Pick<HarnessTurnOpts, 'turnId' | 'decide' | 'stallMs'>
  context: MessagesApiContext
}

/** One turn of a session as UI events. It runs in this process, so `turn:end` is the last of them. */
export class MessagesApiTurn {
  readonly #options: MessagesApiTurnOptions
  readonly #log: HarnessLog
  #run: NativeRun | null = null
  #stopReason: StopReason | null = null
  readonly #over: Promise<void>
  #tellOver: () => void = () => {}

  constructor(options: MessagesApiTurnOptions) {
    this.#options = options
    this.#log = new HarnessLog(options.context.config, options.session.id)
    this.#over = new Promise(resolve => {
      this.#tellOver = resolve
    })
  }

  interrupt(): void {
    this.#stop('interrupted')
  }

  /** Resolves when nothing of it runs any more. */
  async kill(): Promise<void> {
    this.#stop('killed')
    await this.#over
  }

  /** What is wrong before the start throws. From `turn:start` on every way out is an event. */
  async *events(): AsyncGenerator<UIEvent> {
    const { query } = this.#options
    const { signal } = query
    const onAbort = () => this.#stop(signal.reason?.name === 'TimeoutError' ? 'timeout' : 'interrupted')
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      if (signal.aborted) onAbort()
      const prepared = await this.#prepare()
      yield* this.#overLog(prepared)
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#tellOver()
    }
  }

  async #prepare(): Promise<PreparedTurn> {
    try {
      return await prepareTurn(this.#options.query, this.#options.context)
    } catch (error) {
      throw startFailure(error, MESSAGES_API)
    }
  }

  async *#overLog(prepared: PreparedTurn): AsyncGenerator<UIEvent> {
    const startedAt = performance.now()
    const { session, query, opts } = this.#options
    const turnId = opts.turnId ?? randomUUID()
    const { log, conversation } = await this.#open(turnId)
    let reason: TurnEndReason = 'crashed'
    try {
      yield turnStart(session.id, {
        promptText: prepared.prompt.text,
        attachments: prepared.prompt.attachments,
      })
      if (conversation.lostId !== undefined) {
        this.#log.write('warn', 'resume:failed', { claudeSessionId: conversation.lostId })
        yield lostSession(session.id, conversation.lostId, MESSAGES_API.name)
        yield resumeFailed(session.id, conversation.lostId)
      }
      const run = new NativeRun({ query, prepared, conversation, log })
      this.#run = run
      if (this.#stopReason) run.stop()
      reason = yield* this.#show(run)
    } finally {
      conversation.transcript.close()
      await log.close()
    }
    const durationMs = Math.round(performance.now() - startedAt)
    yield { type: 'turn:end', sessionId: session.id, reason, durationMs }
  }

  async #open(turnId: string): Promise<{ log: RawLog; conversation: Conversation }> {
    const { session, query } = this.#options
    try {
      const log = await RawLog.open({
        projectRoot: query.cwd,
        harness: HARNESS_ID,
        sessionId: session.id,
        turnId,
      })
      return { log, conversation: await openConversation(query) }
    } catch (error) {
      throw startFailure(error, MESSAGES_API)
    }
  }

  async *#show(run: NativeRun): AsyncGenerator<UIEvent, TurnEndReason> {
    const { session, query } = this.#options
    const translator = new MessagesApiTranslator(session.id)
    const isWhole = query.includePartialMessages === false
    try {
      for await (const event of run.events()) {
        if (isWhole && event.type === 'stream_event') continue
        for (const told of translator.translate(event)) yield this.#inOurWords(told)
      }
    } catch (error) {
      this.#log.write('error', 'turn:error', { error: String(error) })
      yield* translator.end()
      yield failed(session.id, error)
      return 'crashed'
    }
    yield* translator.end()
    const outcome = translator.outcome?.reason ?? 'crashed'
    // A stop that came too late to matter does not undo the answer.
    return outcome === 'completed' ? outcome : (this.#stopReason ?? outcome)
  }

  /** The loop knows only that it was stopped, not why. */
  #inOurWords(event: UIEvent): UIEvent {
    if (event.type !== 'session:error' || event.code !== 'interrupted' || !this.#stopReason) return event
    return { ...event, ...stopped(event.sessionId, this.#stopReason) }
  }

  #stop(reason: StopReason): void {
    if (!this.#stopReason || reason === 'killed') this.#stopReason = reason
    this.#run?.stop()
  }
}
