import type {
  HarnessQuery,
  HarnessTurnOpts,
  PermissionMode,
  PermissionRequestEvent,
  Session,
  UIEvent,
} from '@chirality/core'
import type { Connection, ConnectionEnd, Requests, TurnParts, TurnPlan } from '../../turn/connection.ts'
import type { TurnLog } from '../../turn/harness-log.ts'
import { STALL_MS, type StopReason } from '../../turn/turn-events.ts'
import { MESSAGES_API, type MessagesApiContext } from '../config.ts'
import { promptBlocks } from '../conversation/prompt-blocks.ts'
import { MESSAGES_API_ID } from '../descriptor.ts'
import { RawLogWriter, TurnTracer } from '../log/raw-log.ts'
import { TurnView } from '../log/turn-view.ts'
import type { Grants } from '../permissions/policy.ts'
import { NativeRun } from './native-run.ts'
import { type PreparedRun, prepareRun } from './prepare-turn.ts'

export interface MessagesApiTurnOptions {
  session: Session
  turnId: string
  query: HarnessQuery
  opts: Pick<HarnessTurnOpts, 'decide' | 'guard' | 'stallMs'>
  context: MessagesApiContext
  grants: Grants
}

/** One turn of a session in this process. `turn:end` is its last event. */
export function messagesApiPlan(options: MessagesApiTurnOptions): TurnPlan<LoopConnection> {
  const { query, context } = options
  let prepared: PreparedRun | undefined
  const prepare = async () => {
    prepared ??= await prepareRun(query, context)
    return prepared
  }
  return {
    agent: MESSAGES_API,
    config: context.config,
    signal: query.signal,
    prompt: async () => {
      const { prompt } = await prepare()
      return { promptText: prompt.text, attachments: prompt.attachments }
    },
    open: async parts => openLoop(await prepare(), parts, options),
  }
}

async function openLoop(
  prepared: PreparedRun,
  { stop, record, log }: TurnParts,
  { session, turnId, query, opts, context, grants }: MessagesApiTurnOptions,
): Promise<LoopConnection> {
  const sessionId = session.id
  const { rawLogs } = context.config
  const names = { harness: MESSAGES_API_ID, sessionId, turnId }
  const raw = await RawLogWriter.open({ projectRoot: query.projectRoot ?? query.cwd, ...names, rawLogs })
  try {
    const tracer = new TurnTracer(raw, record)
    const { guard, decide, stallMs = STALL_MS } = opts
    const canAsk = decide !== undefined
    const run = await NativeRun.open(
      { query, prepared, log: raw, tracer, grants, canAsk, guard, stallMs },
      context.busyConversations,
    )
    const { nativeSessionId: claudeSessionId, lostId } = run
    log.write('info', 'turn:open', { claudeSessionId, spool: raw.path })
    if (lostId !== undefined)
      log.write('warn', 'resume:failed', { claudeSessionId: lostId, error: NO_TRANSCRIPT })
    // The trace is written before the first request: a turn that could not be found again must not have had an
    // effect.
    tracer.turn()
    // The stop was requested during the start.
    if (stop.reason) run.stop(stop.reason)
    run.start()
    return new LoopConnection(run, sessionId, log)
  } catch (error) {
    await raw.discard()
    throw error
  }
}

const NO_TRANSCRIPT = 'There is no transcript of this conversation.'

/** The loop runs whether its events are read or not. */
export class LoopConnection implements Connection {
  readonly hasBegun = true
  readonly offset = -1
  /** The raw log holds its stalls. */
  readonly isQuiet = true
  readonly requests: Requests
  readonly #run: NativeRun
  readonly #view: TurnView
  readonly #log: TurnLog

  constructor(run: NativeRun, sessionId: string, log: TurnLog) {
    this.#run = run
    this.#view = new TurnView(sessionId)
    this.#log = log
    this.requests = {
      isOpen: ({ requestId }: PermissionRequestEvent) => run.gate.isOpen(requestId),
      answer: ({ requestId }, asked) => void run.gate.answer(requestId, asked),
    }
  }

  async *batches(): AsyncGenerator<UIEvent[], void> {
    for await (const batch of this.#run.batches())
      yield batch.flatMap(value => [...this.#view.show({ kind: 'json', value, bytes: 0, offset: 0 })])
  }

  /** The model receives it with the next tool results, or when it finishes. */
  async send(prompt: HarnessQuery['prompt']): Promise<boolean> {
    const { blocks } = await promptBlocks(prompt)
    return this.#run.add(blocks)
  }

  setPermissionMode(mode: PermissionMode): void {
    this.#run.setPermissionMode(mode)
  }

  async stop(reason: StopReason): Promise<void> {
    this.#run.stop(reason)
    await this.#run.done
  }

  async end(): Promise<ConnectionEnd> {
    const events = this.#view.end()
    const outcome = this.#view.outcome ?? null
    this.#log.write('info', 'turn:close', { reason: outcome })
    // The raw log holds the stop reason, with the result.
    return { events, outcome, isFinished: outcome !== null }
  }

  close(): Promise<void> {
    return this.#run.close()
  }
}
