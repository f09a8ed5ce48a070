import { setTimeout as pause } from 'node:timers/promises'
import type { TurnProcess } from '@chirality/core'
import type { AgentProcess } from './agent-process.ts'
import { ProcessFamily } from './stop/process-family.ts'
import { StopLadder, type StopOptions, type StopReport, type StopTarget } from './stop/stop.ts'
import { carriesMarker, findAllMarked, withVariable } from './system/leftovers.ts'
import {
  listProcesses,
  type ProcessEntry,
  readProcess,
  sendSignal,
  stillRunning,
} from './system/process-table.ts'

/** A process that a previous server started. Its exit has to be polled for, and its exit code is unknown. */
export class TracedProcess {
  readonly exited: Promise<void>
  readonly #trace: TurnProcess
  readonly #ladder: StopLadder
  readonly #watching = new AbortController()
  #hasExited = false
  #leftGroupBehind = false

  private constructor(trace: TurnProcess, isRunning: boolean) {
    this.#trace = trace
    this.#hasExited = !isRunning
    this.exited = isRunning ? this.#watch() : Promise.resolve()
    this.#ladder = new StopLadder({
      ...trace,
      exited: this.exited,
      hasExited: () => this.#hasExited,
      leftGroupBehind: () => this.#leftGroupBehind,
    })
  }

  static async find(trace: TurnProcess): Promise<TracedProcess> {
    return new TracedProcess(trace, await isOfRun(trace))
  }

  get hasExited(): boolean {
    return this.#hasExited
  }

  get stopped(): boolean {
    return this.#ladder.started
  }

  signal(signal: NodeJS.Signals): boolean {
    return !this.#hasExited && sendSignal(this.#trace.pid, signal)
  }

  /** Stops everything it started, also if the process itself has exited. */
  stop(options?: StopOptions): Promise<StopReport> {
    return this.#ladder.stop(options)
  }

  /** Stops polling. */
  close(): void {
    this.#watching.abort()
  }

  async #watch(): Promise<void> {
    const { signal } = this.#watching
    while (!signal.aborted && (await isRunning(this.#trace))) {
      await pause(POLL_MS, undefined, { signal }).catch(() => {})
    }
    this.#hasExited = true
    // The group's number cannot have been reused in so short a time.
    this.#leftGroupBehind = !signal.aborted && sendSignal(-this.#trace.pid, 0)
  }
}

/** Each poll reads one small file on Linux, and runs `ps` elsewhere. */
const POLL_MS = process.platform === 'linux' ? 20 : 250

async function isRunning({ pid, startTime: startedAt }: TurnProcess): Promise<boolean> {
  return (await stillRunning([{ pid, startedAt }])).length > 0
}

/**
 * A record can come with a checkout and name any process: a process belongs to the run only if it has the run's marker.
 */
async function isOfRun(trace: TurnProcess): Promise<boolean> {
  if (!(await isRunning(trace))) return false
  // On other systems the environment of some programs is hidden.
  return process.platform !== 'linux' || carriesMarker(trace.pid, trace.marker)
}

/**
 * The facts that another process needs to find a process and its output again. Call it while the agent is a child of
 * this process.
 */
export async function traceProcess(
  { pid, marker, spoolPath, stderrPath }: AgentProcess,
  spoolOffset = 0,
): Promise<TurnProcess> {
  // A process that has already exited has no start time; the empty value matches no process, so it counts as exited
  // later too.
  const entry = await readProcess(pid).catch(() => undefined)
  return { pid, startTime: entry?.startedAt ?? '', marker, spoolPath, stderrPath, spoolOffset }
}

/** Stops all processes with the marker of a run whose server has exited: their output will never be read. */
export function stopByMarker(marker: string, options?: StopOptions): Promise<StopReport> {
  return new StopLadder(withoutLeader(marker)).stop(options)
}

/** Stops the processes that have both the marker and this variable: a part of a run, while the run goes on. */
export function stopByVariable(
  marker: string,
  variable: { name: string; value: string },
  options?: StopOptions,
): Promise<StopReport> {
  const leader = withoutLeader(marker)
  const findMarked = async (table: ProcessEntry[]) => withVariable(await findAllMarked(table), variable)
  return new StopLadder(leader, new ProcessFamily(leader, { list: listProcesses, findMarked })).stop(options)
}

/** The same for a known process: it is found even if its environment, and so its marker, cannot be read. */
export async function stopTraced(trace: TurnProcess, options?: StopOptions): Promise<StopReport> {
  const process = await TracedProcess.find(trace)
  try {
    return await process.stop({ ...options, interruptGraceMs: 0 })
  } finally {
    process.close()
  }
}

function withoutLeader(marker: string): StopTarget {
  return {
    pid: 0,
    marker,
    exited: Promise.resolve(),
    hasExited: () => true,
    leftGroupBehind: () => false,
  }
}
