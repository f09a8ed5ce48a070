import {
  type HarnessTurnOpts,
  type NdjsonRecord,
  stalled,
  type TurnProcess,
  type UIEvent,
  unreachable,
} from '@chirality/core'
import { adoptAgent } from '../process/adopt-agent.ts'
import { type AgentProcess, type ProcessExit, spawnAgent } from '../process/agent-process.ts'
import { openSpool } from '../process/spool.ts'
import type { StopOptions, StopReport } from '../process/stop.ts'
import { stopTraced } from '../process/stop-leftovers.ts'
import { traceProcess } from '../process/trace-process.ts'
import { versionNotice } from './agent-version.ts'
import type { HarnessLog } from './harness-log.ts'
import { startFailure } from './start-failure.ts'
import { STALL_MS, spoolDamaged } from './turn-events.ts'
import { type NotesPlace, type TurnFacts, type TurnNote, TurnNotes } from './turn-notes.ts'
import type { Invocation, ReaderOptions, TurnOutcome, TurnProgram, TurnReader } from './turn-program.ts'

export interface AttemptOptions extends Pick<ReaderOptions, 'sessionId' | 'turnId'> {
  program: TurnProgram
  projectRoot: string
  log: HarnessLog
  /** The first turn of a session tells what is worth knowing of the agent's version. */
  isFirstTurn?: boolean
  /** Silence after which the user is told. */
  stallMs?: number
  onProcess?: HarnessTurnOpts['onProcess']
}

export interface AttemptEnd {
  exit: ProcessExit & Pick<AgentProcess, 'fault'>
  /** Of the last result; null when there was none. */
  outcome: TurnOutcome | null
  /** Whether that result was its last word, or more had begun. */
  answered: boolean
  /** Answered, and nothing was left in the background. */
  rested: boolean
  /** It rested and did not exit, so we ended it. */
  lingered: boolean
  stderr: string
  /** What it had started and left alive; all of it was stopped, or tried to. */
  leftBehind: number
  /** Undefined when it is not known that there are none. */
  leftRunning: number | undefined
}

/** One process of a turn: from its start to what is left of it. */
export class ProcessAttempt {
  readonly #process: AgentProcess
  readonly #source: AttemptedProcess
  readonly #options: AttemptOptions
  readonly #reader: TurnReader
  readonly #stderr: string[] = []
  /** Where the last record was read. */
  #offset = -1
  #lingered = false

  private constructor(source: AttemptedProcess, options: AttemptOptions) {
    this.#process = source.process
    this.#source = source
    this.#options = options
    const onLinger = () => this.#endLinger()
    this.#reader = options.program.reader({ ...options, facts: source.facts, onLinger })
  }

  /** Takes over the invocation's files, also when it fails. */
  static async start(invocation: Invocation, options: AttemptOptions): Promise<ProcessAttempt> {
    const { sessionId, turnId, projectRoot, log, program, onProcess, stallMs: idleMs = STALL_MS } = options
    const { command, args, env, cwd, stdin, facts = {}, cleanup } = invocation
    let notes: TurnNotes | null = null
    try {
      const spool = await openSpool({ projectRoot, harness: program.harnessId, sessionId, turnId })
      if (onProcess) notes = keepNotes({ spoolPath: spool.path, turnId }, invocation, log)
      const process = await spawnAgent({ command, args, env, cwd, keepInputOpen: true, spool, idleMs })
      // The message last: an agent that nobody could find again must not have been given anything to do.
      await tellProcess(process, options)
      void process.write(stdin)
      process.endInput()
      log.spawned(invocation, process)
      const notice = noticeOf(invocation, options)
      return new ProcessAttempt({ process, facts, notes, known: [], notice, cleanup }, options)
    } catch (error) {
      await notes?.remove()
      await cleanup()
      throw startFailure(error, program)
    }
  }

  /** One that an earlier Chirality started. When its output cannot be read it is stopped. */
  static async adopt(trace: TurnProcess, options: AttemptOptions): Promise<ProcessAttempt> {
    const { turnId, projectRoot, log, program, stallMs: idleMs = STALL_MS } = options
    const { pid, spoolPath } = trace
    log.write('info', 'process:adopt', { pid, spool: spoolPath })
    try {
      const process = await adoptAgent({ process: trace, projectRoot, harness: program.harnessId, idleMs })
      const notes = new TurnNotes({ spoolPath, turnId })
      const { facts, notes: known } = await notes.read()
      const cleanup = () => Promise.resolve()
      return new ProcessAttempt({ process, facts, notes, known, cleanup }, options)
    } catch (error) {
      await stopTraced(trace, program.config.stop)
      throw startFailure(error, program)
    }
  }

  /** What the process prints, until it has exited and all is read. */
  async *events(): AsyncGenerator<UIEvent> {
    const { sessionId, log } = this.#options
    if (this.#source.notice) yield this.#noted(this.#source.notice)
    for await (const output of this.#process.output()) {
      yield* this.#recall(output.kind === 'record' ? output.record.offset : this.#offset + 1)
      switch (output.kind) {
        case 'record':
          this.#offset = output.record.offset
          yield* this.#translate(output.record)
          break
        case 'stderr':
          this.#keepStderr(output.line)
          break
        case 'idle':
          if (!this.#reader.rested) yield this.#noted(stalled(sessionId, output.idleMs))
          break
        case 'spool-damaged':
          log.write('error', 'spool:damaged', { path: output.path, damage: output.damage })
          yield this.#noted(spoolDamaged(sessionId, output.path, output.damage))
          break
        default:
          unreachable(output)
      }
    }
    yield* this.#recall(Number.POSITIVE_INFINITY)
    yield* this.#reader.end()
  }

  /** All calls share one ladder; a stricter one moves it on. */
  stop(options: StopOptions): Promise<StopReport> {
    return this.#process.stop(options)
  }

  /** The process is gone, or is made to go, and so is all that it had started. */
  async end(): Promise<AttemptEnd> {
    const { program, log } = this.#options
    const report = await this.stop({ ...program.config.stop, interruptGraceMs: 0 })
    const exit = { ...(await this.#process.exited), fault: this.#process.fault }
    this.#reader.close()
    log.exited(exit, exit.fault)
    if (report.leftRunning.length > 0) log.write('error', 'process:left', { pids: report.leftRunning })
    return {
      exit,
      outcome: this.#reader.outcome,
      answered: this.#reader.answered,
      rested: this.#reader.rested,
      lingered: this.#lingered,
      stderr: this.#stderr.join('\n'),
      leftBehind: report.stopped.filter(pid => pid !== this.#process.pid).length,
      leftRunning: report.isSure || report.leftRunning.length > 0 ? report.leftRunning.length : undefined,
    }
  }

  /** Leaves no process, no open file and no temporary file. May be called at any time, and twice. Never rejects. */
  async release(): Promise<void> {
    const { program, log } = this.#options
    const steps = [
      () => this.stop(program.config.stop ?? {}),
      () => this.#process.close(),
      async () => this.#source.notes?.remove(),
      () => this.#source.cleanup(),
    ]
    for (const step of steps) {
      await step().catch((error: unknown) => log.write('error', 'turn:release', { error: String(error) }))
    }
    this.#reader.close()
  }

  #translate(record: NdjsonRecord): UIEvent[] {
    this.#options.log.record(record)
    return this.#reader.read(record)
  }

  /** For a later Chirality: the spool will not tell it. */
  #noted(event: UIEvent): UIEvent {
    try {
      this.#source.notes?.add({ after: this.#offset, event })
    } catch (error) {
      this.#options.log.write('error', 'turn:untraced', { error: String(error) })
    }
    return event
  }

  /** What an earlier Chirality told before it read on to the record there. */
  *#recall(offset: number): Generator<UIEvent> {
    const { known } = this.#source
    for (let note = known[0]; note !== undefined && note.after < offset; note = known[0]) {
      known.shift()
      yield note.event
    }
  }

  #keepStderr(line: string): void {
    this.#options.log.stderr(line)
    this.#stderr.push(line)
    if (this.#stderr.length > MAX_STDERR_LINES) this.#stderr.shift()
  }

  #endLinger(): void {
    this.#lingered = true
    this.#options.log.write('warn', 'process:linger', { pid: this.#process.pid })
    void this.stop(this.#options.program.config.stop ?? {})
  }
}

/** What an attempt is made of, wherever it comes from. */
interface AttemptedProcess {
  process: AgentProcess
  facts: TurnFacts
  /** Null when nobody will ever adopt the turn. */
  notes: TurnNotes | null
  /** Those of an earlier Chirality, in order. */
  known: TurnNote[]
  /** Told before anything else. */
  notice?: UIEvent
  /** Removes what was written for the process. */
  cleanup(): Promise<void>
}

function noticeOf(
  { version }: Invocation,
  { isFirstTurn, sessionId, program: { name, versions } }: AttemptOptions,
): UIEvent | undefined {
  return isFirstTurn && versions ? versionNotice(sessionId, { version, versions, name }) : undefined
}

/** Without room for them the turn runs all the same; another Chirality will not tell all of it. */
function keepNotes(place: NotesPlace, { facts }: Invocation, log: HarnessLog): TurnNotes {
  const notes = new TurnNotes(place)
  try {
    if (facts) notes.facts(facts)
  } catch (error) {
    log.write('error', 'turn:untraced', { error: String(error) })
  }
  return notes
}

/** Whoever cannot keep it loses the turn with this program, but not the turn. */
async function tellProcess(process: AgentProcess, { onProcess, log }: AttemptOptions): Promise<void> {
  if (!onProcess) return
  try {
    onProcess(await traceProcess(process))
  } catch (error) {
    log.write('error', 'turn:untraced', { error: String(error) })
  }
}

const MAX_STDERR_LINES = 50
