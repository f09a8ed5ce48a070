import type {
  HarnessTurnOpts,
  Session,
  SessionErrorCode,
  SessionErrorEvent,
  TurnEndReason,
  UIEvent,
} from '@chirality/core'
import type { StopOptions } from '../process/stop.ts'
import type { AttemptSource, Candidate } from './attempt-source.ts'
import { HarnessLog } from './harness-log.ts'
import type { AttemptEnd, ProcessAttempt } from './process-attempt.ts'
import { startFailure } from './start-failure.ts'
import {
  describeExit,
  failed,
  leftBehind,
  lingered,
  lostSession,
  noResult,
  resumeFailed,
  type StopReason,
  stopped,
  turnStart,
} from './turn-events.ts'
import type { TurnProgram } from './turn-program.ts'

export interface ProcessTurnOptions {
  program: TurnProgram
  session: Session
  turnId: string
  source: AttemptSource
  opts?: Pick<HarnessTurnOpts, 'stallMs' | 'onProcess'>
}

/** One turn in a process of its own: from the user's message to `process:exit`. */
export class ProcessTurn {
  readonly #options: ProcessTurnOptions
  readonly #log: HarnessLog
  #attempt: ProcessAttempt | null = null
  #stopReason: StopReason | null = null
  readonly #stopping = new AbortController()
  /** The start, as far as it has come. */
  #opening: Promise<unknown> = Promise.resolve()

  constructor(options: ProcessTurnOptions) {
    this.#options = options
    this.#log = new HarnessLog(options.program.config, options.session.id)
  }

  /** Ctrl-C, and then the rest of the ladder if the agent does not heed it. */
  interrupt(): void {
    void this.#stop('interrupted')
  }

  /** Straight to SIGTERM, and 5 s later to SIGKILL. */
  async kill(): Promise<void> {
    await this.#stop('killed')
    // One that was being started is stopped as soon as it is there.
    await this.#opening.catch(() => {})
    await this.#attempt?.stop(this.#stopOptions())
  }

  /**
   * What is wrong before the start throws, so that no turn begins. After `turn:start` every way out is an event:
   * exactly one `turn:end`, then `process:exit`.
   */
  async *events(): AsyncGenerator<UIEvent> {
    const startedAt = performance.now()
    const { source, session } = this.#options
    const { signal, resumedId } = source
    const onAbort = () => void this.#stop(signal.reason?.name === 'TimeoutError' ? 'timeout' : 'interrupted')
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      if (signal.aborted) onAbort()
      if (resumedId) this.#log.write('info', 'resume:attempt', { claudeSessionId: resumedId })
      const candidate = await this.#starting(source.first(this.#stopping.signal))
      // What goes wrong here is thrown, but not for a turn that has begun: it is told from its beginning in any case.
      const opened = source.hasBegun ? undefined : await this.#open(candidate)
      yield turnStart(session.id, candidate)
      const first = () => (opened === undefined ? this.#open(candidate) : Promise.resolve(opened))
      let end = yield* this.#run(first, resumedId)
      if (end.resumeFailed && !this.#stopReason) end = yield* this.#runAfresh()
      const durationMs = Math.round(performance.now() - startedAt)
      const lasted = source.hasBegun ? {} : { durationMs }
      yield { type: 'turn:end', sessionId: session.id, reason: end.reason, ...lasted }
      await this.#release()
      yield { type: 'process:exit', sessionId: session.id, ...end.exit }
    } finally {
      signal.removeEventListener('abort', onAbort)
      await this.#release()
    }
  }

  #starting<T>(step: Promise<T>): Promise<T> {
    this.#opening = step
    return step
  }

  /** Null when the turn was stopped before there was a process. */
  async #open(candidate: Candidate): Promise<Opened | null> {
    const { session, turnId, program, source, opts = {} } = this.#options
    if (this.#stopReason && !source.hasBegun) return null
    const { id: sessionId, projectRoot } = session
    const { stallMs, onProcess } = opts
    const isFirstTurn = session.claudeSessionId === null
    const log = this.#log
    const options = { sessionId, turnId, program, projectRoot, log, isFirstTurn, stallMs, onProcess }
    const attempt = await this.#starting(candidate.open(options))
    this.#attempt = attempt
    // Asked for while it was being started.
    if (this.#stopReason) void attempt.stop(this.#stopOptions())
    return { attempt, expectedId: candidate.expectedId }
  }

  async *#run(
    open: () => Promise<Opened | null>,
    resumedId: string | undefined,
  ): AsyncGenerator<UIEvent, AttemptVerdict> {
    const sessionId = this.#options.session.id
    let opened: Opened | null
    try {
      opened = await open()
    } catch (error) {
      return yield* this.#notOpened(error)
    }
    if (!opened) {
      const reason = this.#stopReason ?? 'interrupted'
      yield stopped(sessionId, reason)
      return { reason, exit: NO_PROCESS, resumeFailed: false }
    }
    const { attempt, expectedId } = opened
    let isResumeFailed = false
    let failure: { error: unknown } | undefined
    try {
      for await (const event of attempt.events()) {
        const isMissing = resumedId !== undefined && isMissingSession(event)
        isResumeFailed ||= isMissing
        if (event.type === 'session:init') this.#compareId(event.claudeSessionId, expectedId)
        yield isMissing ? { ...event, recovered: !this.#stopReason } : event
      }
    } catch (error) {
      // Ours, not the agent's: the raw log cannot be read any more, say. It still ends as an event.
      this.#log.fault('turn:error', error)
      failure = { error }
    }
    const end = await attempt.end()
    if (resumedId !== undefined && !end.answered && this.#options.program.lostSession?.(end.stderr)) {
      yield lostSession(sessionId, resumedId, this.#options.program.name)
      return { reason: 'failed', exit: exitOf(end), resumeFailed: true }
    }
    yield* this.#closing(end, failure)
    const reason = failure ? 'crashed' : this.#reasonOf(end)
    return { reason, exit: exitOf(end), resumeFailed: isResumeFailed }
  }

  /** The agent's word counts, but whoever reads the log should know that it was another. */
  #compareId(claudeSessionId: string | null, expected: string | undefined): void {
    if (expected !== undefined && expected !== claudeSessionId)
      this.#log.write('warn', 'session:other-id', { expected, claudeSessionId })
  }

  /** The agent no longer has the conversation: the same message again, as the first of a new one. */
  async *#runAfresh(): AsyncGenerator<UIEvent, AttemptVerdict> {
    const { source, session } = this.#options
    this.#log.write('warn', 'resume:failed', {
      claudeSessionId: source.resumedId,
      error: 'The agent no longer has this conversation.',
    })
    yield resumeFailed(session.id, source.resumedId)
    await this.#attempt?.release()
    return yield* this.#run(
      async () => this.#open(await this.#starting(source.afresh(this.#stopping.signal))),
      undefined,
    )
  }

  *#notOpened(error: unknown): Generator<UIEvent, AttemptVerdict> {
    const { program, session, source } = this.#options
    const { code, message } = startFailure(error, program)
    const errorCode: SessionErrorCode = code === 'not_installed' ? code : 'process_crashed'
    this.#log.write('error', 'turn:error', { error: message })
    yield { type: 'session:error', sessionId: session.id, error: message, code: errorCode }
    return { reason: source.hasBegun ? 'crashed' : 'failed', exit: NO_PROCESS, resumeFailed: false }
  }

  /** What is to be said when the process is gone, the missing result last. */
  *#closing(end: AttemptEnd, failure: { error: unknown } | undefined): Generator<UIEvent> {
    const sessionId = this.#options.session.id
    if (end.lingered) yield lingered(sessionId)
    if (end.leftBehind > 0 && !this.#stopReason) yield leftBehind(sessionId, end.leftBehind)
    if (failure) yield failed(sessionId, failure.error)
    else if (!end.answered) {
      const { name } = this.#options.program
      const explained = this.#explained(end)
      if (this.#stopReason) yield stopped(sessionId, this.#stopReason)
      else if (explained) yield { type: 'session:error', sessionId, ...explained }
      else yield noResult(sessionId, describeExit(name, end.exit, end.stderr))
    }
  }

  #explained({ stderr }: AttemptEnd): Pick<SessionErrorEvent, 'error' | 'code'> | undefined {
    const { program, source } = this.#options
    return program.explain?.(stderr, source.resumedId)
  }

  #reasonOf(end: AttemptEnd): TurnEndReason {
    const { outcome, answered, rested } = end
    // Stopped too late to matter: the agent had already finished.
    const finished = rested && outcome?.reason === 'completed'
    if (this.#stopReason && !finished) return this.#stopReason
    if (answered && outcome) return outcome.reason
    return this.#explained(end)?.code === 'unsupported' ? 'failed' : 'crashed'
  }

  async #release(): Promise<void> {
    await this.#attempt?.release()
    await this.#options.source.release()
  }

  async #stop(reason: StopReason): Promise<void> {
    if (!this.#stopReason || reason === 'killed') this.#stopReason = reason
    this.#stopping.abort()
    await this.#attempt?.stop(this.#stopOptions())
  }

  #stopOptions(): StopOptions {
    const { stop } = this.#options.program.config
    return this.#stopReason === 'killed' ? { ...stop, interruptGraceMs: 0 } : { ...stop }
  }
}

interface Opened {
  attempt: ProcessAttempt
  expectedId: string | undefined
}

interface AttemptVerdict {
  reason: TurnEndReason
  exit: { code: number | null; signal: string | null; leftRunning?: number }
  resumeFailed: boolean
}

function exitOf({ exit, leftRunning }: AttemptEnd): AttemptVerdict['exit'] {
  const { code, signal } = exit
  return { code, signal, ...(leftRunning === undefined ? {} : { leftRunning }) }
}

const NO_PROCESS = { code: null, signal: null, leftRunning: 0 }

function isMissingSession(event: UIEvent): event is UIEvent & { type: 'session:error' } {
  return event.type === 'session:error' && event.code === 'session_not_found'
}
