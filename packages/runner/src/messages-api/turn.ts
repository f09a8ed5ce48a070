import { randomUUID } from 'node:crypto'
import type {
  HarnessQuery,
  HarnessTurnOpts,
  PermissionMode,
  PermissionRequestEvent,
  PromptPart,
  Session,
  TurnEndReason,
  UIEvent,
} from '@chirality/core'
import { askForDecision } from '../turn/ask.ts'
import { HarnessLog } from '../turn/harness-log.ts'
import { startFailure } from '../turn/start-failure.ts'
import { failed, type StopReason, turnStart } from '../turn/turn-events.ts'
import { HARNESS_ID, MESSAGES_API, type MessagesApiContext, STALL_MS } from './config.ts'
import { NativeRun } from './native-run.ts'
import type { Grants } from './permissions/grants.ts'
import { type PreparedTurn, prepareTurn } from './prepare-turn.ts'
import { promptBlocks } from './prompt-blocks.ts'
import { RawLog } from './raw-log.ts'
import { TurnTracer } from './turn-tracer.ts'
import { TurnView } from './turn-view.ts'

export interface MessagesApiTurnOptions {
  session: Session
  query: HarnessQuery
  opts: Pick<HarnessTurnOpts, 'turnId' | 'decide' | 'guard' | 'stallMs' | 'onProcess'>
  context: MessagesApiContext
  grants: Grants
}

/** One turn of a session as UI events. It runs in this process, so `turn:end` is the last of them. */
export class MessagesApiTurn {
  readonly lastEvent = 'turn:end'
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

  /** Resolves when nothing of it runs any more, also when nobody reads its events. */
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
    const { run, prompt } = await this.#open()
    let reason: TurnEndReason
    try {
      void run.done.then(this.#tellOver)
      yield turnStart(sessionId, prompt)
      reason = yield* this.#show(run)
    } finally {
      await run.close()
    }
    const durationMs = Math.round(performance.now() - startedAt)
    this.#log.write('info', 'turn:close', { reason, durationMs })
    yield { type: 'turn:end', sessionId, reason, durationMs }
  }

  async #open(): Promise<{ run: NativeRun; prompt: ReturnType<typeof promptOf> }> {
    const { session, query, opts, context } = this.#options
    let log: RawLog | undefined
    try {
      const prepared = await prepareTurn(query, context)
      const turnId = opts.turnId ?? randomUUID()
      log = await RawLog.open({ projectRoot: query.cwd, harness: HARNESS_ID, sessionId: session.id, turnId })
      const run = await this.#start(prepared, log)
      return { run, prompt: promptOf(prepared) }
    } catch (error) {
      await log?.discard()
      throw startFailure(error, MESSAGES_API)
    }
  }

  async #start(prepared: PreparedTurn, log: RawLog): Promise<NativeRun> {
    const { query, opts, context, grants } = this.#options
    const canAsk = opts.decide !== undefined
    const stallMs = opts.stallMs ?? STALL_MS
    const tracer = new TurnTracer(log, { onProcess: opts.onProcess, log: this.#log })
    const options = { query, prepared, log, tracer, grants, canAsk, guard: opts.guard, stallMs }
    const run = await NativeRun.open(options, context.busyConversations)
    this.#run = run
    const { nativeSessionId: claudeSessionId, lostId } = run
    this.#log.write('info', 'turn:open', { claudeSessionId, spool: log.path })
    if (lostId !== undefined)
      this.#log.write('warn', 'resume:failed', {
        claudeSessionId: lostId,
        error: 'There is no transcript of this conversation.',
      })
    // Before its first word: what nobody could find again must not have done anything.
    tracer.turn()
    // Asked for while it was being started.
    if (this.#stopReason) run.stop(this.#stopReason)
    run.start()
    return run
  }

  async *#show(run: NativeRun): AsyncGenerator<UIEvent, TurnEndReason> {
    const { session } = this.#options
    const view = new TurnView(session.id)
    try {
      for await (const event of run.events()) {
        for (const told of view.show({ kind: 'json', value: event, bytes: 0, offset: 0 })) {
          // Before it is told: whoever sees it can answer at once.
          if (told.type === 'permission:request' && run.gate.isOpen(told.requestId))
            void this.#decide(told, run)
          yield told
        }
      }
    } catch (error) {
      this.#log.write('error', 'turn:error', { error: String(error) })
      yield* view.end()
      yield failed(session.id, error)
      return 'crashed'
    }
    yield* view.end()
    return view.outcome ?? 'crashed'
  }

  async #decide(request: PermissionRequestEvent, run: NativeRun): Promise<void> {
    const asked = await askForDecision(this.#options.opts.decide, request, this.#stopping.signal)
    run.gate.answer(request.requestId, asked)
  }

  #stop(reason: StopReason): void {
    if (!this.#stopReason || reason === 'killed') this.#stopReason = reason
    this.#stopping.abort()
    this.#run?.stop(this.#stopReason)
  }
}

function promptOf({ prompt }: PreparedTurn): Parameters<typeof turnStart>[1] {
  return { promptText: prompt.text, attachments: prompt.attachments }
}
