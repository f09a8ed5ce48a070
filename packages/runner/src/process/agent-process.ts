import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { CagePlan, CageTry } from '@chirality/cage'
import { type AgentOutput, AgentOutputReader } from './output/agent-output.ts'
import { startCaged } from './program/start-caged.ts'
import { type StartedProgram, type StartOptions, startProgram } from './program/start-program.ts'
import { type LostOutput, watchLostOutput } from './spool/lost-output.ts'
import type { Spool } from './spool/spool.ts'
import { StopLadder, type StopOptions, type StopReport } from './stop/stop.ts'
import { chainMarker, MARKER_VARIABLE } from './system/leftovers.ts'
import { sendSignal, startTimeNow } from './system/process-table.ts'

export interface AgentProcessOptions {
  command: string
  args: string[]
  cwd: string
  env: Record<string, string>
  spool: Spool
  /** The command runs in this cage, or not at all. */
  cage?: CagePlan | undefined
  /** Written at once. Without it, and without `keepInputOpen`, the agent's stdin is empty. */
  stdin?: string | Uint8Array | undefined
  /** Leaves stdin open for `write` until `endInput`. */
  keepInputOpen?: boolean | undefined
  maxLineBytes?: number | undefined
  /** `false` for file systems that send no change events. */
  watch?: boolean | undefined
  /** The agent is stopped if the disk of its spool has less free space than this. Default 1 MiB. */
  minFreeBytes?: number | undefined
  /** An agent whose output ends in the middle of a line for this long is stopped. Default 10 s. */
  tornMs?: number | undefined
}

export interface ProcessExit {
  code: number | null
  signal: NodeJS.Signals | null
  durationMs: number
  /** A stop was requested, so the exit code says nothing about the agent's work. */
  stopped: boolean
}

export interface AgentProcess {
  readonly pid: number
  /** Set as CHIRALITY_RUN in the environment of the agent and of everything it starts. */
  readonly marker: string
  readonly spoolPath: string
  readonly stderrPath: string
  /** How the attempts to leave its cage ended, if it has one. */
  readonly tries?: readonly CageTry[] | undefined
  readonly exited: Promise<ProcessExit>
  /** How a part of its output was lost. A running agent is stopped then. */
  readonly fault: string | null
  /**
   * The output since the last call; undefined when the agent has exited and both files are read. One reader at a time.
   */
  read(): Promise<AgentOutput[] | undefined>
  /** False if the agent no longer reads its stdin. Never throws. */
  write(text: string): Promise<boolean>
  endInput(): void
  /** False if the agent has exited. */
  signal(signal: NodeJS.Signals): boolean
  stop(options?: StopOptions): Promise<StopReport>
  /**
   * Closes the files. `read` does so at its end; a caller that does not read to the end has to call it after `stop`.
   */
  close(): Promise<void>
}

/** Starts an agent whose stdout and stderr are files. If it rejects with a SpawnError, the spool is removed. */
export async function spawnAgent(options: AgentProcessOptions): Promise<AgentProcess> {
  const marker = randomUUID()
  const startedAt = performance.now()
  const { child, pid, tries } = await startChild(options, marker).catch(async (error: unknown) => {
    await options.spool.discard()
    throw error
  })
  return Object.assign(new SpawnedAgent({ child, pid, marker, startedAt, options }), { tries })
}

function startChild(
  options: AgentProcessOptions,
  marker: string,
): Promise<StartedProgram & { tries?: readonly CageTry[] }> {
  const { command, args, cwd, env, spool, stdin, keepInputOpen, cage } = options
  const start: StartOptions = {
    cwd,
    env: { ...env, [MARKER_VARIABLE]: chainMarker(marker, env[MARKER_VARIABLE]) },
    stdio: [
      stdin === undefined && !keepInputOpen ? 'ignore' : 'pipe',
      spool.stdout.writeFd,
      spool.stderr.writeFd,
    ],
    detached: true,
    enclosed: [marker],
  }
  return cage === undefined
    ? startProgram(command, args, start)
    : startCaged(command, args, { ...start, cage })
}

/** The output records one at a time. A reader that leaves early loses the rest of its batch. */
export async function* outputOf(process: Pick<AgentProcess, 'read'>): AsyncGenerator<AgentOutput> {
  for (let batch = await process.read(); batch !== undefined; batch = await process.read()) yield* batch
}

class SpawnedAgent implements AgentProcess {
  readonly pid: number
  readonly marker: string
  readonly spoolPath: string
  readonly stderrPath: string
  readonly exited: Promise<ProcessExit>
  readonly #lost: LostOutput
  readonly #child: ChildProcess
  readonly #spool: Spool
  readonly #reader: AgentOutputReader
  readonly #ladder: StopLadder
  #hasExited = false
  #leftGroupBehind = false

  constructor(spawned: {
    child: ChildProcess
    pid: number
    marker: string
    startedAt: number
    options: AgentProcessOptions
  }) {
    const { child, pid, marker, startedAt, options } = spawned
    const { spool, stdin, keepInputOpen } = options
    this.pid = pid
    this.marker = marker
    this.spoolPath = spool.path
    this.stderrPath = spool.stderrPath
    this.#child = child
    this.#spool = spool
    spool.closeWriters()
    const { minFreeBytes, tornMs } = options
    const onLost = () => void this.stop({ interruptGraceMs: 0 })
    this.#lost = watchLostOutput({ stdout: spool.stdout, minFreeBytes, tornMs, onLost })
    this.#reader = new AgentOutputReader({ ...options, onTorn: this.#lost.onTorn })
    this.exited = new Promise(resolve => {
      child.once('exit', (code, signal) => {
        this.#hasExited = true
        this.#lost.end()
        this.#leftGroupBehind = sendSignal(-pid, 0)
        this.#reader.end()
        const durationMs = performance.now() - startedAt
        resolve({ code, signal, durationMs, stopped: this.#ladder.started })
      })
    })
    this.#ladder = new StopLadder({
      pid,
      marker,
      startTime: startTimeNow(pid),
      exited: this.exited,
      hasExited: () => this.#hasExited,
      leftGroupBehind: () => this.#leftGroupBehind,
    })
    if (stdin !== undefined) child.stdin?.write(stdin)
    if (!keepInputOpen) child.stdin?.end()
  }

  get fault(): string | null {
    return this.#lost.reason
  }

  async read(): Promise<AgentOutput[] | undefined> {
    const batch = await this.#reader.read()
    if (batch === undefined) await this.close()
    return batch
  }

  write(text: string): Promise<boolean> {
    const { stdin } = this.#child
    if (stdin === null || !stdin.writable) return Promise.resolve(false)
    return new Promise(resolve => {
      stdin.write(text, error => resolve(error === null || error === undefined))
    })
  }

  endInput(): void {
    this.#child.stdin?.end()
  }

  signal(signal: NodeJS.Signals): boolean {
    return !this.#hasExited && sendSignal(this.pid, signal)
  }

  stop(options?: StopOptions): Promise<StopReport> {
    return this.#ladder.stop(options)
  }

  close(): Promise<void> {
    this.#lost.end()
    this.#reader.close()
    return this.#spool.close()
  }
}
