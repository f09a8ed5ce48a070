import { Wake } from '../../common/wake.ts'
import { type ProcessEntry, sendSignal, stillRunning } from '../system/process-table.ts'
import { isEnclosing, removeRunGroup } from '../system/run-group.ts'
import { type Leader, ProcessFamily } from './process-family.ts'

export interface StopOptions {
  /** How long the agent may take to end its turn after SIGINT. 0 skips the step. */
  interruptGraceMs?: number | undefined
  /** How long the group may take after SIGTERM. 0 skips the step. */
  termGraceMs?: number | undefined
  /** How long a killed process may take to disappear before it is reported as left running. */
  killGraceMs?: number | undefined
  onStep?(step: StopStep): void
}

export interface StopStep {
  /** `sweep-*` is for processes that left the group: they have the run's marker, or were seen as descendants. */
  name: 'interrupt' | 'terminate' | 'kill' | 'sweep-terminate' | 'sweep-kill'
  signal: NodeJS.Signals
  pids: number[]
}

export interface StopReport {
  steps: StopStep[]
  /** Signalled, and exited. */
  stopped: number[]
  /** Survived SIGKILL, or this process may not signal it. */
  leftRunning: number[]
  /**
   * True if no other process can be left; otherwise one that cleared its environment and left its parents may still
   * run.
   */
  isSure: boolean
}

export interface StopTarget extends Leader {
  readonly exited: Promise<unknown>
}

/**
 * Stops an agent with everything it started. All calls share one sequence of signals; a stricter call moves it on at
 * once.
 */
export class StopLadder {
  readonly #target: StopTarget
  readonly #family: ProcessFamily
  readonly #wake = new Wake()
  readonly #steps: StopStep[] = []
  readonly #signalled = new Set<number>()
  readonly #terminated = new Set<number>()
  readonly #killed = new Set<number>()
  readonly #listeners = new Set<(step: StopStep) => void>()
  #grace: Grace = DEFAULT_GRACE
  #running: Promise<StopReport> | undefined

  constructor(target: StopTarget, family = new ProcessFamily(target)) {
    this.#target = target
    this.#family = family
  }

  get started(): boolean {
    return this.#running !== undefined
  }

  stop(options: StopOptions = {}): Promise<StopReport> {
    this.#grace = this.#running === undefined ? graceOf(options) : stricter(this.#grace, graceOf(options))
    if (options.onStep !== undefined) this.#listeners.add(options.onStep)
    this.#wake.notify()
    this.#running ??= this.#run()
    return this.#running
  }

  async #run(): Promise<StopReport> {
    void this.#target.exited.then(() => this.#wake.notify())
    if (!this.#target.hasExited()) await this.#stopLeader()
    const seen = await this.#family.look()
    // Members that cannot be listed can still be signalled through their group.
    if (seen.isBlind) await this.#family.signalGroup('SIGKILL')
    let { group, strays } = seen
    // Processes that fork faster than they are listed need another round; those that survive SIGKILL do not.
    for (let round = 0; round < MAX_ROUNDS && this.#hasUnkilled([...group, ...strays]); round += 1) {
      await this.#stopRest(group, strays)
      ;({ group, strays } = await this.#family.look())
    }
    removeRunGroup(this.#target.marker)
    return this.#report([...group, ...strays])
  }

  async #stopLeader(): Promise<void> {
    const leaderGone = async () => this.#target.hasExited()
    // Members seen now stay known, also if the leader's exit cuts the process tree.
    let { group } = await this.#family.look()
    if (this.#grace.interruptGraceMs > 0 && !this.#target.hasExited()) {
      sendSignal(this.#target.pid, 'SIGINT')
      const leader = group.filter(entry => entry.pid === this.#target.pid)
      this.#record({ name: 'interrupt', signal: 'SIGINT' }, leader)
      await this.#waitUntil(leaderGone, () => this.#grace.interruptGraceMs)
      if (this.#target.hasExited()) return
      ;({ group } = await this.#family.look())
    }
    if (this.#target.hasExited() || this.#grace.termGraceMs === 0) return
    if (await this.#family.signalGroup('SIGTERM')) {
      this.#record({ name: 'terminate', signal: 'SIGTERM' }, group)
      await this.#waitUntil(leaderGone, () => this.#grace.termGraceMs)
    }
  }

  /** Other members may ignore the signal that ended the leader, or be outside its group. */
  async #stopRest(group: ProcessEntry[], strays: ProcessEntry[]): Promise<void> {
    const everyone = [...group, ...strays]
    const restGone = async () => (await stillRunning(everyone)).length === 0
    if (!this.#target.hasExited()) await this.#killGroup(group)
    await this.#terminateRest(group, strays)
    await this.#waitUntil(restGone, () => Math.min(this.#grace.termGraceMs, REST_GRACE_MS))
    await this.#killGroup(group)
    await this.#killStrays(strays)
    await this.#waitUntil(restGone, () => this.#grace.killGraceMs)
  }

  async #terminateRest(group: ProcessEntry[], strays: ProcessEntry[]): Promise<void> {
    if (this.#grace.termGraceMs === 0) return
    const unasked = ({ pid }: ProcessEntry) => !this.#terminated.has(pid) && !this.#killed.has(pid)
    const members = (await stillRunning(group)).filter(unasked)
    if (members.length > 0 && (await this.#family.signalGroup('SIGTERM'))) {
      this.#record({ name: 'terminate', signal: 'SIGTERM' }, members)
    }
    const left = (await stillRunning(strays)).filter(unasked)
    for (const entry of left) sendSignal(entry.pid, 'SIGTERM')
    this.#record({ name: 'sweep-terminate', signal: 'SIGTERM' }, left)
  }

  /** Always sent, whatever the table says: a member may have forked since it was read. */
  async #killGroup(group: ProcessEntry[]): Promise<void> {
    const members = (await stillRunning(group)).filter(entry => !this.#killed.has(entry.pid))
    await this.#family.signalGroup('SIGKILL')
    this.#record({ name: 'kill', signal: 'SIGKILL' }, members)
  }

  async #killStrays(strays: ProcessEntry[]): Promise<void> {
    const left = await stillRunning(strays)
    for (const entry of left) sendSignal(entry.pid, 'SIGKILL')
    this.#record({ name: 'sweep-kill', signal: 'SIGKILL' }, left)
  }

  #record(step: Omit<StopStep, 'pids'>, entries: ProcessEntry[]): void {
    if (entries.length === 0) return
    const pids = entries.map(entry => entry.pid)
    for (const pid of pids) this.#signalled.add(pid)
    const sent = step.signal === 'SIGKILL' ? this.#killed : this.#terminated
    if (step.signal !== 'SIGINT') for (const pid of pids) sent.add(pid)
    this.#steps.push({ ...step, pids })
    for (const listener of this.#listeners) {
      try {
        listener({ ...step, pids })
      } catch {
        // An exception in a listener must not leave processes running.
      }
    }
  }

  #hasUnkilled(entries: ProcessEntry[]): boolean {
    return entries.some(entry => !this.#killed.has(entry.pid))
  }

  /** Waits for `done`, at most `graceMs`, which a stricter call may shorten meanwhile. */
  async #waitUntil(done: () => Promise<boolean>, graceMs: () => number): Promise<void> {
    const start = performance.now()
    while (!(await done())) {
      const remainingMs = start + graceMs() - performance.now()
      if (remainingMs <= 0) return
      await this.#wake.wait(Math.min(remainingMs, POLL_MS))
    }
  }

  #report(leftovers: ProcessEntry[]): StopReport {
    const leftRunning = leftovers.map(entry => entry.pid)
    const stopped = [...this.#signalled].filter(pid => !leftRunning.includes(pid))
    return { steps: this.#steps, stopped, leftRunning, isSure: isEnclosing() }
  }
}

type Grace = Required<Pick<StopOptions, 'interruptGraceMs' | 'termGraceMs' | 'killGraceMs'>>

/** Claude Code needs its SIGINT grace to print the result of the interrupted turn, with its cost. */
const DEFAULT_GRACE: Grace = { interruptGraceMs: 5000, termGraceMs: 5000, killGraceMs: 2000 }
/** For processes that outlived the leader: they have no turn to finish. */
const REST_GRACE_MS = 1000
const POLL_MS = 10
const MAX_ROUNDS = 5

function graceOf(options: StopOptions): Grace {
  return {
    interruptGraceMs: options.interruptGraceMs ?? DEFAULT_GRACE.interruptGraceMs,
    termGraceMs: options.termGraceMs ?? DEFAULT_GRACE.termGraceMs,
    killGraceMs: options.killGraceMs ?? DEFAULT_GRACE.killGraceMs,
  }
}

function stricter(a: Grace, b: Grace): Grace {
  return {
    interruptGraceMs: Math.min(a.interruptGraceMs, b.interruptGraceMs),
    termGraceMs: Math.min(a.termGraceMs, b.termGraceMs),
    killGraceMs: Math.min(a.killGraceMs, b.killGraceMs),
  }
}
