import { HarnessError } from '@chirality/core'
import { type IdleAgent, type MemoryLimit, surplusAgents } from '../process/system/kept-memory.ts'
import type { AgentEnd, ExitListener } from './turn-events.ts'
import type { AgentName } from './turn-program.ts'
import { once, unlessAborted } from './turn-stop.ts'

/** An agent whose process outlives a turn. */
export interface KeptAgent {
  readonly process: { readonly pid: number }
  /** False as soon as it is being stopped, or has exited by itself. */
  readonly isUsable: boolean
  /** The harness stopped it, so its exit is not reported to the user. */
  readonly isStopped: boolean
  /** No work runs in it, not even in the background. */
  readonly isResting: boolean
  /** Resolves when the process has exited. */
  readonly ended: Promise<AgentEnd>
  /** Lets an idle agent exit by itself. Resolves when none of its processes runs any more. */
  dismiss(): Promise<void>
  /** Ends the agent without waiting for it to exit by itself. */
  stop(options: { interruptGraceMs: 0 }): Promise<unknown>
  /** Closes one conversation, so that another process can open it. Only for agents that sessions share. */
  unload?(conversation: string): Promise<void>
  /** Ends the work of one conversation and closes it. Only for agents that sessions share. */
  evict?(conversation: string): Promise<void>
}

/** How an agent is started. */
export interface AgentLaunch<A extends KeptAgent> {
  /** Turns with the same key use the same agent. */
  readonly key: string
  /** Several sessions share the agent. While it is being ended, it can still hold the conversation of any of them. */
  readonly isShared?: boolean
  /** The agent ends with its first turn. */
  readonly isShortLived?: boolean
  /** Rejects when the signal is aborted, and leaves no process running then. */
  start(signal: AbortSignal): Promise<A>
  /** Sets what can be set on a running agent; true if this launch can use it. Default: it can. */
  accepts?(agent: A, startedWith: this): Promise<boolean>
}

export interface AgentRequest<A extends KeptAgent, L extends AgentLaunch<A> = AgentLaunch<A>> {
  sessionId: string
  /** The conversation that the session resumes. */
  conversation?: string | undefined
  launch: L
  /** Aborted when the agent is no longer wanted. */
  signal: AbortSignal
}

/** A turn's claim on an agent. */
export interface AgentLease<A extends KeptAgent> {
  agent: A
  /** The agent was running before this request. */
  isKept: boolean
  /** How the session's last agent exited, if the harness did not stop it and the exit was not reported yet. */
  lost?: string
  /** The number of leases on the agent, this one included. */
  holders(): number
  /** Resolves when the processes that only this turn used have exited. */
  release(): Promise<void>
  /**
   * The turn is over: if the agent exits by itself before the session's next turn, the listener is told, and that turn
   * does not report it again. Without effect once another turn has begun.
   */
  afterTurn(listener: ExitListener | undefined): void
}

export interface KeptAgentsOptions {
  agent: AgentName
  /** How long an agent may be idle before it is ended. Default 10 min. */
  idleMs?: number | undefined
  /** How much memory idle agents may use. Default: a quarter of the memory that would be free without them. */
  keepMemory?: MemoryLimit | undefined
  /** How many agents may be idle at a time. Default: no limit. */
  maxIdle?: number | undefined
}

/** Keeps agents between turns, so that a follow-up does not wait for a process start, and ends idle ones. */
export class KeptAgents<A extends KeptAgent, L extends AgentLaunch<A> = AgentLaunch<A>> {
  readonly #options: KeptAgentsOptions
  readonly #entries = new Map<string, Entry<A, L>>()
  /** The process in which each session's conversation is open: only that process may write to it. */
  readonly #homes = new Map<string, Entry<A, L>>()
  readonly #endings = new Set<Entry<A, L>>()
  readonly #lost = new Map<string, string>()
  #isClosed = false

  constructor(options: KeptAgentsOptions) {
    this.#options = options
  }

  /**
   * Returns a running agent that fits, or starts one. Rejects with a HarnessError if none can be started, and with the
   * code `aborted` if this pool is closed or the signal is aborted, also meanwhile. A start that no other turn waits
   * for is cancelled then, and its process has exited when this rejects.
   */
  async acquire(request: AgentRequest<A, L>): Promise<AgentLease<A>> {
    const { sessionId, signal } = request
    try {
      return await this.#acquire(request)
    } catch (error) {
      if (signal.aborted) await this.#hasten(sessionId)
      this.#refuseWhenClosed()
      throw error
    }
  }

  async #acquire(request: AgentRequest<A, L>): Promise<AgentLease<A>> {
    const { sessionId, launch, signal } = request
    await unlessAborted(this.#leaveHome(request), signal)
    // An agent that is being ended can still hold the conversation: two processes that write to it lose one of its
    // branches.
    await unlessAborted(this.#ended(request), signal)
    const known = this.#entries.get(launch.key)
    const entry = await this.#entryFor(request)
    const agent = await this.#wait(request, entry, entry.agent)
    this.#refuseWhenClosed()
    const lost = this.#lost.get(sessionId)
    this.told(sessionId)
    const turn: Tenancy = { listener: undefined }
    entry.tenancies.set(sessionId, turn)
    return {
      agent,
      isKept: entry === known,
      holders: () => entry.users,
      release: once(() => this.#release(entry)),
      // The turn itself reports an agent that exited during it, and the next turn one that exits right now.
      afterTurn: listener => {
        if (agent.isUsable) turn.listener = listener
      },
      ...(lost === undefined ? {} : { lost }),
    }
  }

  /** The exit of the session's last agent was reported to the user. */
  told(sessionId: string): void {
    this.#lost.delete(sessionId)
  }

  /** The session's running agent, if there is one. */
  get(sessionId: string): A | undefined {
    const started = this.#homes.get(sessionId)?.started
    return started?.isUsable ? started : undefined
  }

  all(): A[] {
    return [...this.#entries.values()].flatMap(({ started }) => (started?.isUsable ? [started] : []))
  }

  /**
   * Resolves when no process of the session runs any more, whether its agent is starting, working or ending. An agent
   * that other sessions use goes on for them.
   */
  async kill(sessionId: string, conversation?: string): Promise<void> {
    await this.#leave(sessionId, conversation)
    await this.#hasten(sessionId)
  }

  /**
   * Like `kill()`, for an idle session: its agent gets the time to exit by itself, because it may have to write its
   * transcript.
   */
  async release(sessionId: string, conversation?: string): Promise<void> {
    await this.#leave(sessionId, conversation)
    await this.#ended({ sessionId })
    this.told(sessionId)
  }

  /**
   * Closes the pool. From the call on no agent can be started. When it resolves, none runs. Agents are ended after the
   * turns that use them, because a turn reports the exit of its agent.
   */
  async close(turnsEnded?: Promise<unknown>): Promise<void> {
    this.#isClosed = true
    await turnsEnded
    for (const entry of [...this.#entries.values()]) void this.#end(entry)
    await Promise.all([...this.#endings].map(({ ending }) => ending))
  }

  #refuseWhenClosed(): void {
    if (!this.#isClosed) return
    const { harnessId, name } = this.#options.agent
    throw new HarnessError(`The ${name} harness is closed.`, 'aborted', harnessId)
  }

  async #entryFor(request: AgentRequest<A, L>): Promise<Entry<A, L>> {
    const { launch, signal } = request
    const known = this.#entries.get(launch.key)
    if (known) {
      this.#hold(known, request)
      if (await this.#wait(request, known, willDo(known, launch))) return known
      void this.#end(known)
      await unlessAborted(this.#ended(request), signal)
    }
    this.#refuseWhenClosed()
    const entry = this.#start(launch)
    this.#hold(entry, request)
    return entry
  }

  #hold(entry: Entry<A, L>, { sessionId }: AgentRequest<A, L>): void {
    clearTimeout(entry.idle)
    entry.tenancies.delete(sessionId)
    entry.users += 1
    entry.tenants.add(sessionId)
    this.#homes.set(sessionId, entry)
  }

  /** A turn that stops waiting gives up its lease. */
  async #wait<T>({ signal }: AgentRequest<A, L>, entry: Entry<A, L>, step: Promise<T>): Promise<T> {
    try {
      return await unlessAborted(step, signal)
    } catch (error) {
      if (signal.aborted) await this.#release(entry)
      throw error
    }
  }

  #start(launch: L): Entry<A, L> {
    const givingUp = new AbortController()
    const agent = launch.start(givingUp.signal)
    const entry: Entry<A, L> = {
      launch,
      agent,
      givingUp,
      started: null,
      users: 0,
      tenants: new Set(),
      tenancies: new Map(),
      lastUsedAt: 0,
      idle: undefined,
      ending: undefined,
    }
    this.#entries.set(launch.key, entry)
    agent.then(
      started => this.#watch(entry, started),
      () => this.#forget(entry),
    )
    return entry
  }

  /**
   * The exit of an agent that was not stopped is reported at once, or stored until it can be. Its child processes end
   * with it.
   */
  #watch(entry: Entry<A, L>, agent: A): void {
    entry.started = agent
    void agent.ended.then(end => {
      const { code, signal } = end.exit
      const how = signal ? `was ended by ${signal}` : `exited with code ${code}`
      if (!agent.isStopped)
        for (const sessionId of entry.tenants)
          if (!tell(entry.tenancies.get(sessionId)?.listener, end, how)) this.#lost.set(sessionId, how)
      void this.#end(entry)
    })
  }

  /** A session with changed settings needs another agent, so the agent it had must close the conversation first. */
  async #leaveHome({ sessionId, conversation, launch: { key } }: AgentRequest<A, L>): Promise<void> {
    const home = this.#homes.get(sessionId)
    if (!home || home.launch.key === key || home.started?.isUsable === false) return
    if (home.users === 0) void this.#end(home)
    else {
      home.tenants.delete(sessionId)
      if (conversation !== undefined) await home.started?.unload?.(conversation)
    }
  }

  /** Ends the session's agent, unless other sessions hold it or have their conversation in it. */
  async #leave(sessionId: string, conversation: string | undefined): Promise<void> {
    const home = this.#homes.get(sessionId)
    if (!home) return
    this.#homes.delete(sessionId)
    const isShared = home.launch.isShared && (home.users > 1 || [...this.#homes.values()].includes(home))
    if (!isShared) void this.#end(home)
    else {
      home.tenants.delete(sessionId)
      if (conversation !== undefined) await home.started?.evict?.(conversation)
    }
  }

  async #release(entry: Entry<A, L>): Promise<void> {
    entry.users -= 1
    if (entry.users > 0) return
    if (entry.ending || entry.launch.isShortLived || !entry.started?.isUsable) return this.#end(entry)
    entry.lastUsedAt = performance.now()
    this.#startIdling(entry)
    void this.#endSurplus()
  }

  #startIdling(entry: Entry<A, L>): void {
    clearTimeout(entry.idle)
    entry.idle = setTimeout(() => {
      // An agent with background work is not idle, though no turn uses it.
      if (entry.started?.isResting) void this.#end(entry)
      else this.#startIdling(entry)
    }, this.#options.idleMs ?? IDLE_MS)
  }

  /** Ends the least recently used agents first. No turn waits for this. */
  async #endSurplus(): Promise<void> {
    const { maxIdle = Number.POSITIVE_INFINITY, keepMemory } = this.#options
    const idle = this.#idle().sort((a, b) => a.lastUsedAt - b.lastUsedAt)
    const tooMany = idle.splice(0, Math.max(0, idle.length - maxIdle))
    for (const { entry } of tooMany) void this.#end(entry)
    const surplus = await surplusAgents(idle, keepMemory)
    // A turn may have taken one of them meanwhile.
    const stillIdle = new Set(this.#idle().map(({ entry }) => entry))
    for (const { entry } of surplus) if (stillIdle.has(entry)) void this.#end(entry)
  }

  #idle(): (IdleAgent & { entry: Entry<A, L> })[] {
    return [...this.#entries.values()].flatMap(entry => {
      const { users, started, lastUsedAt } = entry
      if (users > 0 || !started?.isResting) return []
      return [{ entry, lastUsedAt, pid: started.process.pid }]
    })
  }

  #end(entry: Entry<A, L>): Promise<void> {
    this.#forget(entry)
    if (entry.ending) return entry.ending
    entry.ending = endEntry(entry).finally(() => this.#endings.delete(entry))
    this.#endings.add(entry)
    return entry.ending
  }

  async #ended({
    sessionId,
    launch,
  }: Pick<AgentRequest<A, L>, 'sessionId'> & Partial<AgentRequest<A, L>>): Promise<void> {
    const concerns = ({ tenants, launch: { isShared } }: Entry<A, L>) =>
      tenants.has(sessionId) || (isShared === true && launch !== undefined)
    await Promise.all([...this.#endings].filter(concerns).map(({ ending }) => ending))
  }

  /** A turn waits for an agent that is being ended, so the agent gets no more time to exit by itself. */
  async #hasten(sessionId: string): Promise<void> {
    for (const { started, tenants } of this.#endings)
      if (tenants.has(sessionId)) void started?.stop({ interruptGraceMs: 0 })
    await this.#ended({ sessionId })
  }

  #forget(entry: Entry<A, L>): void {
    clearTimeout(entry.idle)
    if (this.#entries.get(entry.launch.key) === entry) this.#entries.delete(entry.launch.key)
    for (const [sessionId, home] of this.#homes) if (home === entry) this.#homes.delete(sessionId)
  }
}

interface Tenancy {
  /** Set when the turn is over. */
  listener: ExitListener | undefined
}

interface Entry<A extends KeptAgent, L extends AgentLaunch<A>> {
  launch: L
  agent: Promise<A>
  /** Cancels the start, if it is not complete. */
  givingUp: AbortController
  /** Set once the agent runs. */
  started: A | null
  users: number
  /** Sessions whose conversation was opened in it. */
  tenants: Set<string>
  /** By session: its last turn. */
  tenancies: Map<string, Tenancy>
  lastUsedAt: number
  idle: NodeJS.Timeout | undefined
  /** Resolves when none of its processes runs any more. */
  ending: Promise<void> | undefined
}

/** Long enough to read an answer and write a reply; a kept agent uses some hundred megabytes and a little CPU time. */
const IDLE_MS = 10 * 60_000

/** Whether the session was told. A listener that throws was not: the next turn reports it. */
function tell(listener: ExitListener | undefined, end: AgentEnd, how: string): boolean {
  if (!listener) return false
  try {
    listener(end, how)
    return true
  } catch {
    return false
  }
}

/** An agent that accepts every turn with its key needs no wait here: the turn that holds it waits. */
async function willDo<A extends KeptAgent, L extends AgentLaunch<A>>(
  entry: Entry<A, L>,
  launch: L,
): Promise<boolean> {
  if (!launch.accepts) return entry.started?.isUsable !== false
  const agent = await entry.agent.catch(() => null)
  return agent?.isUsable === true && launch.accepts(agent, entry.launch)
}

async function endEntry<A extends KeptAgent, L extends AgentLaunch<A>>(entry: Entry<A, L>): Promise<void> {
  entry.givingUp.abort()
  const agent = await entry.agent.catch(() => null)
  await agent?.dismiss()
}
