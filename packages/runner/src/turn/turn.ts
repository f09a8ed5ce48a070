import { setImmediate as nextLoopTurn } from 'node:timers/promises'
import {
  type HarnessQuery,
  type HarnessTurnOpts,
  type PermissionMode,
  type Session,
  stalled,
  type TakeBatch,
  type TurnEndReason,
  type UIEvent,
} from '@chirality/core'
import { AdoptionRecord } from './adoption-record.ts'
import type { Connection, ConnectionEnd, ProcessEnd, TurnParts, TurnPlan } from './connection.ts'
import { LEFT } from './emitted.ts'
import { TurnLog } from './harness-log.ts'
import { Questions } from './questions.ts'
import { StallWatch } from './stall-watch.ts'
import { startFailure } from './start-failure.ts'
import {
  failed,
  leftBehind,
  lingered,
  resumeFailed,
  STALL_MS,
  type StopReason,
  stopped,
  turnStart,
} from './turn-events.ts'
import { TurnStop } from './turn-stop.ts'

export interface TurnOptions<C extends Connection> {
  plan: TurnPlan<C>
  session: Session
  turnId: string
  opts?: Pick<HarnessTurnOpts, 'decide' | 'guard' | 'stallMs' | 'onProcess' | 'permissionMode'> | undefined
}

/**
 * One turn of a session, for every agent. An error before the start is thrown, so that no turn begins. After
 * `turn:start` every outcome is an event: exactly one `turn:end`, and `process:exit` if the process exited with the
 * turn. Leaving the loop early stops the agent.
 */
export class Turn<C extends Connection = Connection> {
  readonly #options: TurnOptions<C>
  readonly #parts: TurnParts
  readonly #told: UIEvent[] = []
  /** As it was begun with, or as it was set since. */
  permissionMode: PermissionMode | undefined
  #connection: C | null = null
  #questions: Questions | null = null
  /** The pending start of the agent. */
  #opening: Promise<unknown> = Promise.resolve()
  #wake: () => void = () => {}
  #exit: ProcessEnd | undefined
  /** The agent's message that the conversation no longer exists. */
  #resumeError: string | undefined

  constructor(options: TurnOptions<C>) {
    const { plan, session, turnId, opts } = options
    this.#options = options
    this.permissionMode = opts?.permissionMode
    const log = new TurnLog(plan.config, session.id)
    const record = new AdoptionRecord({ turnId, onProcess: opts?.onProcess, log })
    this.#parts = { stop: new TurnStop(), record, log }
  }

  /** The last event of the turn. Known when `turn:end` is emitted. */
  get lastEvent(): 'turn:end' | 'process:exit' {
    return this.#exit ? 'process:exit' : 'turn:end'
  }

  /** Null while there is none. */
  get connection(): C | null {
    return this.#connection
  }

  /** Interrupts the agent first; an agent that ignores the interrupt is killed. */
  interrupt(): void {
    void this.#stop('interrupted')
  }

  /** Resolves when no process of the turn runs any more, also if nothing reads its events. */
  async kill(): Promise<void> {
    await this.#stop('killed')
    // An agent that is still starting is stopped as soon as it runs.
    await this.#opening.catch(() => {})
    await this.#connection?.stop('killed')
  }

  /** Sends one more message while the agent works. False if there is no agent to take it. */
  async steer(prompt: HarnessQuery['prompt']): Promise<boolean> {
    return (await this.#connection?.send?.(prompt)) ?? false
  }

  /** The whole turn. Each batch waits until the previous one was taken. A reader that leaves rejects with `LEFT`. */
  async run(emit: TakeBatch): Promise<void> {
    const startedAt = performance.now()
    const { plan, session } = this.#options
    const { stop, record } = this.#parts
    const unfollow = stop.follow(plan.signal, reason => this.#stop(reason))
    try {
      const prompt = await this.#starting(plan.prompt(this.#parts))
      // An error here is thrown, except for an adopted turn: its events are emitted from the beginning in any case.
      const opened = plan.hasBegun ? undefined : await this.#open(() => plan.open(this.#parts))
      await emit([turnStart(session.id, prompt)])
      let end = await this.#run(emit, () => (opened === undefined ? plan.open(this.#parts) : opened))
      while (end.retry && !stop.reason) end = await this.#runAgain(emit, end.retry)
      await this.#close()
      this.#exit = end.exit
      const durationMs = Math.round(performance.now() - startedAt)
      const lasted = plan.hasBegun ? {} : { durationMs }
      await emit([{ type: 'turn:end', sessionId: session.id, reason: end.reason, ...lasted }])
      await record.forget()
      if (end.exit) await emit([{ type: 'process:exit', sessionId: session.id, ...end.exit }])
    } finally {
      unfollow()
      await this.#close()
      await record.forget()
      plan.over?.()
    }
  }

  #starting<T>(step: Promise<T>): Promise<T> {
    const started = step.catch((error: unknown) => {
      throw startFailure(error, this.#options.plan.agent)
    })
    this.#opening = started
    return started
  }

  async #open(open: () => Promise<C | null> | C | null): Promise<C | null> {
    const { stop } = this.#parts
    const connection = await this.#starting(Promise.resolve(open()))
    this.#connection = connection
    // A stop arrived while the agent was starting.
    if (stop.reason && connection?.hasBegun) void connection.stop(stop.reason)
    return connection
  }

  async #run(emit: TakeBatch, open: () => Promise<C | null> | C | null): Promise<Verdict> {
    const { plan, session } = this.#options
    const { stop } = this.#parts
    const noProcess = plan.ownsProcess ? { exit: NO_PROCESS } : {}
    let connection: C | null
    try {
      connection = await this.#open(open)
    } catch (error) {
      await emit([this.#notOpened(error)])
      return { reason: plan.hasBegun ? 'crashed' : 'failed', ...noProcess }
    }
    if (connection?.opening) await emit(connection.opening)
    if (!connection || (stop.reason && !connection.hasBegun)) {
      const reason = stop.reason ?? 'interrupted'
      await emit([stopped(session.id, reason)])
      return { reason, ...noProcess }
    }
    return this.#talk(emit, connection)
  }

  /** From the first batch to the agent's end. */
  async #talk(emit: TakeBatch, connection: C): Promise<Verdict> {
    const { stop, log, record } = this.#parts
    const { requests } = connection
    const { decide, guard } = this.#options.opts ?? {}
    const questions = new Questions({
      requests,
      decide,
      guard,
      asksNobody: () => this.permissionMode === 'dontAsk',
      tell: event => this.#tell(event),
    })
    this.#questions = questions
    let failure: { error: unknown } | undefined
    try {
      await this.#show(emit, connection, questions)
    } catch (error) {
      if (error === LEFT) throw error
      // An internal error, for example a raw log that cannot be read any more. The turn still ends with an event.
      log.fault('turn:error', error)
      failure = { error }
    }
    const end = await connection.end(failure)
    if (end.retry === 'again' && !failure && !stop.reason) return { reason: 'crashed', retry: 'again' }
    await emit((end.events ?? []).flatMap(event => questions.see(event)))
    await emit(questions.close().map(event => record.note(event, connection.offset)))
    const exit = end.exit ? { exit: end.exit } : {}
    if (end.retry === 'afresh') return { reason: 'failed', retry: 'afresh', ...exit }
    await emit([...this.#closing(end, failure)])
    const reason = failure ? 'crashed' : this.#reasonOf(end)
    const isLost = this.#resumeError !== undefined
    return { reason, ...exit, ...(isLost ? { retry: 'afresh' } : {}) }
  }

  /** The agent's events and the turn's own. The turn's own come first, because a busy agent always has more waiting. */
  async #show(emit: TakeBatch, connection: C, questions: Questions): Promise<void> {
    const { record, stop } = this.#parts
    const batches = connection.batches()
    let isWaiting = false
    let isOver = false
    const watch = new StallWatch({
      stallMs: this.#options.opts?.stallMs ?? STALL_MS,
      isExpected: () => !isWaiting || questions.areOpen || connection.isQuiet,
      onStall: idleMs => this.#tell(stalled(this.#options.session.id, idleMs)),
    })
    try {
      while (!isOver) {
        watch.reset()
        isWaiting = true
        const reading = new Reading(batches.next(), () => this.#wake())
        const tell = async () => {
          const told = this.#told.splice(0)
          // Only an answer restarts the stall timer; the stall report itself must not.
          if (told.some(({ type }) => type === 'permission:resolved')) watch.reset()
          if (told.length > 0) await emit(told.map(event => record.note(event, connection.offset)))
        }
        // Nothing may be awaited between the look and `#woken`: a wake in between would be lost, and the turn never end.
        while (!reading.isDone || this.#told.length > 0)
          await (this.#told.length > 0 ? tell() : this.#woken())
        isWaiting = false
        const { value: batch, done } = await reading.result
        isOver = done === true
        for (const [at, events] of beforeQuestions(batch ?? []).entries()) {
          // A flood of requests is answered as it comes, and the others of this process get in between.
          if (at % QUESTIONS_AT_ONCE === QUESTIONS_AT_ONCE - 1) {
            await nextLoopTurn()
            await tell()
          }
          await emit(
            events.flatMap(event => questions.see(event)).map(event => this.#checked(event, connection)),
          )
        }
      }
    } finally {
      watch.end()
      if (!isOver) {
        questions.close()
        void connection.stop(stop.reason ?? 'interrupted')
        await batches.return(undefined)
      }
    }
  }

  /** Emits the end as it is, except for a conversation that no longer exists: that is retried as a new one. */
  #checked(event: UIEvent, { expectedId }: C): UIEvent {
    const { plan } = this.#options
    if (event.type === 'session:init') this.#compareId(event.claudeSessionId, expectedId)
    if (!isMissingSession(event) || plan.resumedId === undefined || !plan.afresh) return event
    this.#resumeError = event.error
    return { ...event, recovered: !this.#parts.stop.reason }
  }

  #tell(event: UIEvent): void {
    this.#told.push(event)
    this.#wake()
  }

  #woken(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve
    })
  }

  /** The agent's id counts, but the log has to show that it differs from the expected one. */
  #compareId(claudeSessionId: string | null, expected: string | undefined): void {
    if (expected !== undefined && expected !== claudeSessionId)
      this.#parts.log.write('warn', 'session:other-id', { expected, claudeSessionId })
  }

  /** The turn has begun, so this error becomes an event. */
  async #runAgain(emit: TakeBatch, retry: 'again' | 'afresh'): Promise<Verdict> {
    const { plan, session } = this.#options
    const { log, record } = this.#parts
    const { resumedId } = plan
    const isAfresh = retry === 'afresh'
    if (isAfresh) {
      const error = this.#resumeError ?? 'The agent no longer has this conversation.'
      log.write('warn', 'resume:failed', { claudeSessionId: resumedId, error })
      await emit([resumeFailed(session.id, resumedId)])
    }
    await this.#closeConnection()
    await record.forget()
    const open = () => (isAfresh ? plan.afresh?.(this.#parts) : plan.open(this.#parts)) ?? null
    this.#resumeError = undefined
    const end = await this.#run(emit, open)
    // One retry is enough: a new conversation cannot be missing.
    return isAfresh ? { ...end, retry: undefined } : end
  }

  #notOpened(error: unknown): UIEvent {
    const { plan, session } = this.#options
    const { code, message } = startFailure(error, plan.agent)
    const errorCode = code === 'not_installed' ? code : 'process_crashed'
    this.#parts.log.write('error', 'turn:error', { error: message })
    return { type: 'session:error', sessionId: session.id, error: message, code: errorCode }
  }

  /** The events for an agent that is idle or has exited; the missing result comes last. */
  *#closing(end: ConnectionEnd, failure: { error: unknown } | undefined): Generator<UIEvent> {
    const sessionId = this.#options.session.id
    const { reason } = this.#parts.stop
    if (end.hasLingered) yield lingered(sessionId)
    if (end.leftBehind && !reason) yield leftBehind(sessionId, end.leftBehind)
    if (failure) yield failed(sessionId, failure.error)
    else if (end.outcome === null) {
      if (reason) yield stopped(sessionId, reason)
      else if (end.fault) {
        const { error, code } = end.fault
        yield { type: 'session:error', sessionId, error, code }
      }
    }
  }

  /** A stop that arrived after the answer does not change the outcome. */
  #reasonOf({ outcome, isFinished, fault }: ConnectionEnd): TurnEndReason {
    const { reason } = this.#parts.stop
    if (reason && !isFinished) return reason
    return outcome ?? fault?.reason ?? 'crashed'
  }

  async #stop(reason: StopReason): Promise<void> {
    const counts = this.#parts.stop.ask(reason)
    this.#questions?.abandon()
    await this.#connection?.stop(counts)
  }

  async #closeConnection(): Promise<void> {
    const connection = this.#connection
    this.#connection = null
    await connection?.close()
  }

  async #close(): Promise<void> {
    await this.#closeConnection()
    await this.#options.plan.release?.()
  }
}

interface Verdict {
  reason: TurnEndReason
  exit?: ProcessEnd
  retry?: 'again' | 'afresh' | undefined
}

/** The batch that the turn waits for, while other events are emitted. */
class Reading {
  readonly result: Promise<IteratorResult<UIEvent[], void>>
  isDone = false

  constructor(result: Promise<IteratorResult<UIEvent[], void>>, onDone: () => void) {
    this.result = result
    const done = () => {
      this.isDone = true
      onDone()
    }
    result.then(done, done)
  }
}

/**
 * Splits the batch before each permission request, so that all earlier events are emitted before it can be answered.
 */
function beforeQuestions(batch: UIEvent[]): UIEvent[][] {
  const parts: UIEvent[][] = [[]]
  for (const event of batch) {
    if (event.type === 'permission:request' && parts.at(-1)?.length !== 0) parts.push([])
    parts.at(-1)?.push(event)
  }
  return parts
}

const QUESTIONS_AT_ONCE = 16

const NO_PROCESS: ProcessEnd = { code: null, signal: null, leftRunning: 0 }

function isMissingSession(event: UIEvent): event is UIEvent & { type: 'session:error' } {
  return event.type === 'session:error' && event.code === 'session_not_found' && event.recovered === undefined
}
