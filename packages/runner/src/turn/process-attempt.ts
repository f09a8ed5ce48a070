import { type NdjsonRecord, type TurnProcess, type UIEvent, unreachable } from '@chirality/core'
import { adoptAgent } from '../process/adopt-agent.ts'
import { type AgentProcess, spawnAgent } from '../process/agent-process.ts'
import type { AgentOutput } from '../process/output/agent-output.ts'
import { openSpool } from '../process/spool/spool.ts'
import { stopTraced, traceProcess } from '../process/traced-process.ts'
import { recall, type TurnNote } from './adoption-record.ts'
import { versionNotice } from './agent-version.ts'
import type { Connection, ConnectionEnd, TurnParts } from './connection.ts'
import { startFailure } from './start-failure.ts'
import {
  cagedStatus,
  describeExit,
  lostSession,
  noResult,
  type StopReason,
  spoolDamaged,
} from './turn-events.ts'
import type { Invocation, ReaderOptions, TurnFacts, TurnProgram, TurnReader } from './turn-program.ts'

export interface AttemptOptions extends Pick<ReaderOptions, 'sessionId' | 'turnId'>, TurnParts {
  program: TurnProgram
  projectRoot: string
  /** The id of the conversation that the process resumes. */
  resumedId: string | undefined
  /** The id that the conversation should get, if it is known beforehand. */
  expectedId?: string | undefined
  /** The first turn of a session emits the notice about the agent's version. */
  isFirstTurn?: boolean
  /** Emitted before the agent's events. */
  opening?: UIEvent[] | undefined
}

/** One process of a turn, from its start to the end of its child processes. */
export class ProcessAttempt implements Connection {
  readonly hasBegun = true
  readonly #process: AgentProcess
  readonly #source: AttemptedProcess
  readonly #options: AttemptOptions
  readonly #reader: TurnReader
  readonly #stderr: string[] = []
  #offset = -1
  #lingered = false

  private constructor(source: AttemptedProcess, options: AttemptOptions) {
    this.#process = source.process
    this.#source = source
    this.#options = options
    const onLinger = () => this.#endLinger()
    this.#reader = options.program.reader({ ...options, facts: source.facts, onLinger })
  }

  /** Owns the invocation's files from here on, also if the start fails. */
  static async start(invocation: Invocation, options: AttemptOptions): Promise<ProcessAttempt> {
    const { sessionId, turnId, projectRoot, log, record, program } = options
    const { command, args, env, cwd, cage, stdin, facts = {}, cleanup } = invocation
    try {
      const { harnessId: harness, config } = program
      const spool = await openSpool({ projectRoot, harness, sessionId, turnId, rawLogs: config.rawLogs })
      record.begin(spool.path, invocation.facts)
      const process = await spawnAgent({ command, args, env, cwd, cage, keepInputOpen: true, spool })
      // The message is written last: an agent that no record names must not have received any work.
      if (record.isKept) record.tell(await traceProcess(process))
      void process.write(stdin)
      process.endInput()
      log.spawned(invocation, process)
      const notice = noticeOf(invocation, options)
      return new ProcessAttempt({ process, facts, known: [], notice, cleanup }, options)
    } catch (error) {
      await record.forget()
      await cleanup()
      throw startFailure(error, program)
    }
  }

  /** Attaches to a process that a previous server started. If its output cannot be read, the process is stopped. */
  static async adopt(trace: TurnProcess, options: AttemptOptions): Promise<ProcessAttempt> {
    const { projectRoot, log, record, program } = options
    const { pid, spoolPath } = trace
    log.write('info', 'process:adopt', { pid, spool: spoolPath })
    try {
      const process = await adoptAgent({ process: trace, projectRoot, harness: program.harnessId })
      const { facts, notes: known } = await record.resume(spoolPath)
      const cleanup = () => Promise.resolve()
      return new ProcessAttempt({ process, facts, known, cleanup }, options)
    } catch (error) {
      await stopTraced(trace, program.config.stop)
      throw startFailure(error, program)
    }
  }

  get expectedId(): string | undefined {
    return this.#options.expectedId
  }

  get offset(): number {
    return this.#offset
  }

  get isQuiet(): boolean {
    return this.#reader.rested
  }

  /** The records that the process prints, until it has exited and its output is read to the end. */
  async *batches(): AsyncGenerator<UIEvent[], void> {
    const { known, notice } = this.#source
    const caged = cagedStatus(this.#options.sessionId, this.#process.tries)
    const opening = [...caged, ...(this.#options.opening ?? []), ...(notice ? [notice] : [])]
    yield [...opening.map(event => this.#noted(event)), ...recall(known, 0)]
    for (let read = await this.#process.read(); read !== undefined; read = await this.#process.read()) {
      const events = read.flatMap(output => this.#show(output))
      if (events.length > 0) yield events
    }
    yield [...recall(known, Number.POSITIVE_INFINITY), ...this.#reader.end()]
  }

  /** All calls share one sequence of signals; a stricter call moves it on. */
  async stop(reason: StopReason): Promise<void> {
    const { stop } = this.#options.program.config
    await this.#process.stop(reason === 'killed' ? { ...stop, interruptGraceMs: 0 } : { ...stop })
  }

  /** Waits for the process to exit or kills it, and does the same for its child processes. */
  async end(): Promise<ConnectionEnd> {
    const { program, log, sessionId, resumedId } = this.#options
    const report = await this.#process.stop({ ...program.config.stop, interruptGraceMs: 0 })
    const exited = await this.#process.exited
    const { code, signal } = exited
    const { fault } = this.#process
    this.#reader.close()
    log.exited(exited, fault)
    const left = report.leftRunning.length
    if (left > 0) log.write('error', 'process:left', { pids: report.leftRunning })
    const exit = { code, signal, ...(report.isSure || left > 0 ? { leftRunning: left } : {}) }
    const { answered, rested } = this.#reader
    const outcome = answered ? (this.#reader.outcome?.reason ?? null) : null
    const stderr = this.#stderr.join('\n')
    if (resumedId !== undefined && !answered && program.lostSession?.(stderr)) {
      const events = [lostSession(sessionId, resumedId, program.name)]
      return { events, outcome, isFinished: false, exit, retry: 'afresh' }
    }
    const explained = program.explain?.(stderr, resumedId)
    const { error, code: errorCode } =
      explained ?? noResult(sessionId, describeExit(program.name, { code, signal, fault }, stderr))
    const reason = explained?.code === 'unsupported' ? 'failed' : 'crashed'
    return {
      outcome,
      isFinished: rested && outcome === 'completed',
      fault: { error, code: errorCode, reason },
      hasLingered: this.#lingered,
      leftBehind: report.stopped.filter(pid => pid !== this.#process.pid).length,
      exit,
    }
  }

  /** Leaves no process, open file or temporary file. */
  async close(): Promise<void> {
    const { program, log } = this.#options
    const steps = [
      () => this.#process.stop(program.config.stop ?? {}),
      () => this.#process.close(),
      () => this.#source.cleanup(),
    ]
    for (const step of steps) {
      await step().catch((error: unknown) => log.write('error', 'turn:release', { error: String(error) }))
    }
    this.#reader.close()
  }

  #show(output: AgentOutput): UIEvent[] {
    const { sessionId, log } = this.#options
    switch (output.kind) {
      case 'record':
        this.#offset = output.record.offset
        return [...this.#translate(output.record), ...recall(this.#source.known, this.#offset + 1)]
      case 'stderr':
        this.#keepStderr(output.line)
        return []
      case 'spool-damaged':
        log.write('error', 'spool:damaged', { path: output.path, damage: output.damage })
        return [this.#noted(spoolDamaged(sessionId, output.path, output.damage))]
      default:
        unreachable(output)
        return []
    }
  }

  #translate(record: NdjsonRecord): UIEvent[] {
    this.#options.log.record(record)
    return this.#reader.read(record)
  }

  #noted(event: UIEvent): UIEvent {
    return this.#options.record.note(event, this.#offset)
  }

  #keepStderr(line: string): void {
    this.#options.log.stderr(line)
    this.#stderr.push(line)
    if (this.#stderr.length > MAX_STDERR_LINES) this.#stderr.shift()
  }

  #endLinger(): void {
    this.#lingered = true
    this.#options.log.write('warn', 'process:linger', { pid: this.#process.pid })
    void this.#process.stop(this.#options.program.config.stop ?? {})
  }
}

/** The parts of an attempt, for a new process and for an adopted one. */
interface AttemptedProcess {
  process: AgentProcess
  facts: TurnFacts
  /** The notes that a previous server wrote, in order. */
  known: TurnNote[]
  /** Emitted first. */
  notice?: UIEvent
  /** Removes the files that were written for the process. */
  cleanup(): Promise<void>
}

function noticeOf(
  { version }: Invocation,
  { isFirstTurn, sessionId, program: { name, versions } }: AttemptOptions,
): UIEvent | undefined {
  return isFirstTurn && versions ? versionNotice(sessionId, { version, versions, name }) : undefined
}

const MAX_STDERR_LINES = 50
