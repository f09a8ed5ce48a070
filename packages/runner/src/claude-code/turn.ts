import type {
  ClaudeTranslator,
  HarnessQuery,
  NdjsonRecord,
  Session,
  SessionErrorEvent,
  TurnEndReason,
  UIEvent,
} from '@chirality/core'
import { createClaudeTranslator, unreachable } from '@chirality/core'
import { type AgentProcess, type ProcessExit, spawnAgent } from '../process/agent-process.ts'
import { openSpool } from '../process/spool.ts'
import type { StopOptions, StopReport } from '../process/stop.ts'
import { BackgroundTasks } from './background-tasks.ts'
import { HARNESS_ID, type RunnerLogEntry } from './config.ts'
import { type ClaudeInvocation, type InvocationContext, prepareClaude } from './invocation.ts'
import { startFailure } from './start-failure.ts'

export interface ClaudeTurnOptions extends InvocationContext {
  session: Session
  turnId: string
  query: HarnessQuery
  /** Silence after which the user is told, or, once the agent has answered, the process is ended. */
  stallMs?: number
}

/** One turn in a process of its own: from the user's message to `process:exit`. */
export class ClaudeTurn {
  private readonly options: ClaudeTurnOptions
  private running: AgentProcess | null = null
  private stopping: Promise<StopReport> | null = null
  private stopReason: 'interrupted' | 'killed' | 'timeout' | null = null

  constructor(options: ClaudeTurnOptions) {
    this.options = options
  }

  /** Ctrl-C, and then the rest of the ladder if the agent does not heed it. */
  interrupt(): void {
    this.stop('interrupted', {})
  }

  /** Straight to SIGTERM, and 5 s later to SIGKILL. */
  kill(): void {
    this.stop('killed', { interruptGraceMs: 0 })
  }

  async *events(): AsyncGenerator<UIEvent> {
    const startedAt = performance.now()
    const { query, session } = this.options
    // What is wrong before the start throws, so that no turn begins; from here on every way out is an event.
    let attempt = await this.start(query)
    const { signal } = query
    const onAbort = () => this.stop(signal.reason?.name === 'TimeoutError' ? 'timeout' : 'interrupted', {})
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    try {
      const { promptText: message, attachments } = attempt.invocation
      yield this.event({ type: 'turn:start', message, ...(attachments > 0 ? { attachments } : {}) })
      let end = yield* this.run(attempt, query.resumeSessionId)
      if (end.resumeFailed && !this.stopReason) {
        yield this.event({
          type: 'status',
          status: 'resume_failed',
          level: 'warn',
          message: 'The agent no longer has the earlier conversation; this turn starts a new one.',
          data: { nativeSessionId: query.resumeSessionId ?? null },
        })
        attempt = await this.start({ ...query, resumeSessionId: undefined, forkSession: undefined })
        end = yield* this.run(attempt, undefined)
      }
      yield this.event({
        type: 'turn:end',
        reason: end.reason,
        durationMs: Math.round(performance.now() - startedAt),
      })
      yield this.event({
        type: 'process:exit',
        code: end.exit.code,
        signal: end.exit.signal,
        leftRunning: end.leftRunning,
      })
    } finally {
      signal.removeEventListener('abort', onAbort)
      await this.release(attempt)
      this.log('info', 'turn:closed', { sessionId: session.id })
    }
  }

  private async start(query: HarnessQuery): Promise<Attempt> {
    const { session, turnId, stallMs } = this.options
    const invocation = await prepareClaude(query, this.options)
    try {
      const spool = await openSpool({
        projectRoot: session.projectRoot,
        harness: HARNESS_ID,
        sessionId: session.id,
        turnId,
      })
      const { command, args, env, cwd, stdin } = invocation
      const process = await spawnAgent({ command, args, env, cwd, stdin, spool, idleMs: stallMs ?? STALL_MS })
      this.running = process
      if (this.stopReason) this.stop(this.stopReason, {})
      this.log('info', 'process:spawn', { command, args, pid: process.pid, spool: process.spoolPath })
      return { invocation, process }
    } catch (error) {
      await invocation.cleanup()
      throw startFailure(error)
    }
  }

  private async *run(
    { process }: Attempt,
    resumedId: string | undefined,
  ): AsyncGenerator<UIEvent, AttemptEnd> {
    const translator = createClaudeTranslator({ sessionId: this.options.session.id })
    const tasks = new BackgroundTasks()
    const stderr: string[] = []
    let resumeFailed = false
    for await (const output of process.output()) {
      switch (output.kind) {
        case 'record': {
          this.logMalformed(output.record)
          if (output.record.kind === 'json') tasks.see(output.record.value)
          for (const event of translator.translateRecord(output.record)) {
            if (resumedId !== undefined && isMissingSession(event)) {
              resumeFailed = true
              yield { ...event, recovered: true }
            } else yield event
          }
          break
        }
        case 'stderr':
          stderr.push(output.line)
          if (stderr.length > STDERR_LINES) stderr.shift()
          this.log('warn', 'stderr', { line: output.line.slice(0, LOG_LINE_CHARS) })
          break
        case 'idle':
          yield* this.idle(output.idleMs, translator, tasks)
          break
        case 'spool-damaged':
          this.log('error', 'spool:damaged', { path: output.path, damage: output.damage })
          yield this.event({
            type: 'status',
            status: 'notice',
            level: 'error',
            message: `The raw log ${output.path} was ${output.damage} while in use. The turn goes on.`,
          })
          break
        default:
          unreachable(output)
      }
    }
    yield* translator.end()
    const exit = await process.exited
    const left = await this.sweep(process)
    if (left.stopped.length > 0 && !this.stopReason) yield this.leftBehind(left.stopped.length)
    if (!translator.outcome) yield this.noResult(exit, stderr)
    this.log('info', 'process:exit', { ...exit })
    return {
      exit,
      resumeFailed,
      leftRunning: left.leftRunning.length,
      reason: this.stopReason ?? translator.outcome?.reason ?? 'crashed',
    }
  }

  private logMalformed(record: NdjsonRecord): void {
    if (record.kind === 'malformed')
      this.log('warn', 'parse:error', { line: record.text.slice(0, LOG_LINE_CHARS) })
  }

  /** Silence. After the answer, with nothing in the background, the process has no reason left to live. */
  private *idle(idleMs: number, translator: ClaudeTranslator, tasks: BackgroundTasks): Generator<UIEvent> {
    if (translator.outcome && tasks.running === 0) {
      this.log('warn', 'process:linger', { idleMs })
      this.running?.stop({})
      return
    }
    yield this.event({
      type: 'status',
      status: 'stalled',
      level: 'warn',
      message: `No output for ${Math.round(idleMs / 1000)} s. The agent may be waiting for the model or a long command.`,
      data: { idleMs },
    })
  }

  private leftBehind(count: number): UIEvent {
    const what = count === 1 ? 'a process' : `${count} processes`
    const message = `Stopped ${what} that the agent left behind.`
    return this.event({ type: 'status', status: 'cleanup', level: 'warn', message, data: { count } })
  }

  private noResult(exit: ProcessExit, stderr: string[]): UIEvent {
    if (this.stopReason) {
      const error =
        this.stopReason === 'timeout' ? 'The turn took longer than allowed.' : 'The turn was stopped.'
      return this.event({
        type: 'session:error',
        error,
        code: this.stopReason === 'timeout' ? 'timeout' : 'interrupted',
      })
    }
    const how = exit.signal ? `was ended by ${exit.signal}` : `exited with code ${exit.code}`
    const said = stderr.join('\n').trim()
    const error = `Claude Code ${how} without a result.${said ? ` It said: ${said}` : ''}`
    return this.event({ type: 'session:error', error, code: 'process_crashed' })
  }

  private stop(reason: 'interrupted' | 'killed' | 'timeout', options: StopOptions): void {
    this.stopReason ??= reason
    if (this.running) this.stopping = this.running.stop(options)
  }

  /** The agent is gone; what it started may not be. */
  private async sweep(process: AgentProcess): Promise<StopReport> {
    return this.stopping ?? process.stop({ interruptGraceMs: 0 })
  }

  private async release({ process, invocation }: Attempt): Promise<void> {
    await process.stop({})
    await invocation.cleanup()
  }

  private event<E extends EventBody>(body: E): UIEvent {
    return { ...body, sessionId: this.options.session.id } as unknown as UIEvent
  }

  private log(level: RunnerLogEntry['level'], event: string, data: Record<string, unknown>): void {
    this.options.config.onLog?.({ level, event, sessionId: this.options.session.id, data })
  }
}

function isMissingSession(event: UIEvent): event is SessionErrorEvent {
  return event.type === 'session:error' && event.code === 'session_not_found'
}

type EventBody = UIEvent extends infer E ? (E extends UIEvent ? Omit<E, 'sessionId'> : never) : never

interface Attempt {
  invocation: ClaudeInvocation
  process: AgentProcess
}

interface AttemptEnd {
  exit: ProcessExit
  reason: TurnEndReason
  resumeFailed: boolean
  leftRunning: number
}

/** Long enough for a slow model, short enough that nobody wonders for long. */
const STALL_MS = 120_000
const STDERR_LINES = 50
const LOG_LINE_CHARS = 500
