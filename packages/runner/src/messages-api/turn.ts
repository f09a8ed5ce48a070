import { randomUUID } from 'node:crypto'
import {
  createMessagesApiTranslator,
  type HarnessQuery,
  type HarnessTurnOpts,
  type PermissionMode,
  type PermissionRequestEvent,
  type PromptPart,
  type Session,
  type TurnEndReason,
  type UIEvent,
} from '@chirality/core'
import { askForDecision } from '../turn/ask.ts'
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
import { HARNESS_ID, MESSAGES_API, type MessagesApiContext, STALL_MS } from './config.ts'
import { type Conversation, openConversation } from './conversation.ts'
import { NativeRun } from './native-run.ts'
import type { Grants } from './permissions/grants.ts'
import { type PreparedTurn, prepareTurn } from './prepare-turn.ts'
import { promptBlocks } from './prompt-blocks.ts'
import { RawLog } from './raw-log.ts'

export interface MessagesApiTurnOptions {
  session: Session
  query: HarnessQuery
  opts: Pick<HarnessTurnOpts, 'turnId' | 'decide' | 'stallMs'>
  context: MessagesApiContext
  grants: Grants
}

/** One turn of a session as UI events. It runs in this process, so `turn:end` is the last of them. */
export class MessagesApiTurn {
  readonly #options: MessagesApiTurnOptions
  readonly #log: HarnessLog
  readonly #stopping = new AbortController()
  readonly #over: Promise<void>
  #tellOver: () => void = () => {}
  #run: NativeRun | null = null
  #stopReason: StopReason | null = null

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

  /** False when the turn has not begun or is about to end. */
  async steer(message: string, images: PromptPart[] = []): Promise<boolean> {
    const { blocks } = await promptBlocks([{ type: 'text', text: message }, ...images])
    return this.#run?.add(blocks) ?? false
  }

  setPermissionMode(mode: PermissionMode): void {
    this.#run?.setPermissionMode(mode)
  }

  /** What is wrong before the start throws. From `turn:start` on every way out is an event. */
  async *events(): AsyncGenerator<UIEvent> {
    const { signal } = this.#options.query
    const onAbort = () => this.#stop(signal.reason?.name === 'TimeoutError' ? 'timeout' : 'interrupted')
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      if (signal.aborted) onAbort()
      yield* this.#turn()
    } finally {
      signal.removeEventListener('abort', onAbort)
      // Nobody waits for a decision any more.
      this.#stopping.abort()
      this.#tellOver()
    }
  }

  async *#turn(): AsyncGenerator<UIEvent> {
    const startedAt = performance.now()
    const sessionId = this.#options.session.id
    const { prepared, log, conversation } = await this.#open()
    let reason: TurnEndReason = 'crashed'
    try {
      const { text: promptText, attachments } = prepared.prompt
      yield turnStart(sessionId, { promptText, attachments })
      if (conversation.lostId !== undefined) yield* this.#lost(conversation.lostId)
      reason = yield* this.#show(this.#start(prepared, conversation, log))
    } finally {
      conversation.close()
      await log.close()
    }
    const durationMs = Math.round(performance.now() - startedAt)
    this.#log.write('info', 'turn:close', { reason, durationMs })
    yield { type: 'turn:end', sessionId, reason, durationMs }
  }

  async #open(): Promise<{ prepared: PreparedTurn; log: RawLog; conversation: Conversation }> {
    const { session, query, opts, context } = this.#options
    let log: RawLog | undefined
    try {
      const prepared = await prepareTurn(query, context)
      const turnId = opts.turnId ?? randomUUID()
      log = await RawLog.open({ projectRoot: query.cwd, harness: HARNESS_ID, sessionId: session.id, turnId })
      const conversation = await openConversation(query, context.busyConversations)
      this.#log.write('info', 'turn:open', {
        claudeSessionId: conversation.transcript.nativeSessionId,
        spool: log.path,
      })
      return { prepared, log, conversation }
    } catch (error) {
      await log?.discard()
      throw startFailure(error, MESSAGES_API)
    }
  }

  #start(prepared: PreparedTurn, conversation: Conversation, log: RawLog): NativeRun {
    const { query, opts, grants } = this.#options
    const canAsk = opts.decide !== undefined
    const stallMs = opts.stallMs ?? STALL_MS
    const run = new NativeRun({ query, prepared, conversation, log, grants, canAsk, stallMs })
    this.#run = run
    // Asked for while it was being started.
    if (this.#stopReason) run.stop()
    return run
  }

  *#lost(lostId: string): Generator<UIEvent> {
    const sessionId = this.#options.session.id
    this.#log.write('warn', 'resume:failed', { claudeSessionId: lostId })
    yield lostSession(sessionId, lostId, MESSAGES_API.name)
    yield resumeFailed(sessionId, lostId)
  }

  async *#show(run: NativeRun): AsyncGenerator<UIEvent, TurnEndReason> {
    const { session, query } = this.#options
    const translator = createMessagesApiTranslator({ sessionId: session.id })
    const isWhole = query.includePartialMessages === false
    try {
      for await (const event of run.events()) {
        if (isWhole && event.type === 'stream_event') continue
        for (const told of translator.translate(event)) {
          yield this.#inOurWords(told)
          if (told.type === 'permission:request') void this.#decide(told, run)
        }
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

  async #decide(request: PermissionRequestEvent, run: NativeRun): Promise<void> {
    const asked = await askForDecision(this.#options.opts.decide, request, this.#stopping.signal)
    run.gate.answer(request.requestId, asked)
  }

  /** The loop knows only that it was stopped, not why. */
  #inOurWords(event: UIEvent): UIEvent {
    if (event.type !== 'session:error' || event.code !== 'interrupted' || !this.#stopReason) return event
    return { ...event, ...stopped(event.sessionId, this.#stopReason) }
  }

  #stop(reason: StopReason): void {
    if (!this.#stopReason || reason === 'killed') this.#stopReason = reason
    this.#stopping.abort()
    this.#run?.stop()
  }
}
