import { HarnessError } from '@chirality/core'
import { type IdleAgent, type MemoryLimit, surplusAgents } from '../process/system/kept-memory.ts'
import type { AgentName } from './turn-program.ts'
import { unlessAborted } from './turn-stop.ts'

/** An agent whose process outlives a turn. */
export interface KeptAgent {
  readonly process: { readonly pid: number }
  /** False as soon as it is being stopped, or has gone by itself. */
  readonly isUsable: boolean
  /** We stopped it: nobody needs to be told. */
  readonly isStopped: boolean
  /** Nothing runs in it, not even in the background. */
  readonly isResting: boolean
  /** Resolves when the process is gone. */
  readonly ended: Promise<{ exit: { code: number | null; signal: string | null } }>
  /** The polite way, for one that has nothing to do. Resolves when nothing of it runs any more. */
  dismiss(): Promise<void>
  /** Without the time for good-byes. */
  stop(options: { interruptGraceMs: 0 }): Promise<unknown>
  /** Lets go of one conversation, so that another process may have it. Only where sessions share an agent. */
  unload?(conversation: string): Promise<void>
  /** Ends what runs for one conversation, and lets go of it. Only where sessions share an agent. */
  evict?(conversation: string): Promise<void>
}

/** What an agent is started with. */
export interface AgentLaunch<A extends KeptAgent> {
  /** Turns with the same key use the same agent. */
  readonly key: string
  /** Sessions share it. One that is being ended may hold the conversation of any of them. */
  readonly isShared?: boolean
  /** Ended with its first turn. */
  readonly isShortLived?: boolean
  /** Rejects when the signal says that nobody wants it any more, and leaves nothing running then. */
  start(signal: AbortSignal): Promise<A>
  /** Whether an agent that runs will do instead, after it was told what can be told. Missing: it will. */
  accepts?(agent: A, startedWith: this): Promise<boolean>
}

export interface AgentRequest<A extends KeptAgent, L extends AgentLaunch<A> = AgentLaunch<A>> {
  sessionId: string
  /** The one that the session goes on with. */
  conversation?: string | undefined
  launch: L
  /** Nobody wants it any more. */
  signal: AbortSignal
}

/** A turn's hold on an agent. */
export interface AgentLease<A extends KeptAgent> {
  agent: A
  /** It was there before. */
  isKept: boolean
  /** How the session's last agent came to its end, when that was not our doing and nobody was told yet. */
  lost?: string
  /** How many hold it, this one included. */
  holders(): number
  /** Resolves when what was only for this turn is gone. */
  release(): Promise<void>
}

export interface KeptAgentsOptions {
  agent: AgentName
  /** How long an agent may have nothing to do before it is ended. Default 10 min. */
  idleMs?: number | undefined
  /** How much memory agents may take that have nothing to do. Default: a quarter of what would be free without them. */
  keepMemory?: MemoryLimit | undefined
  /** How many agents may have nothing to do at a time. Default: no limit. */
  maxIdle?: number | undefined
}

/** Keeps agents between turns, so that a follow-up does not wait for a process, and ends those that nobody uses. */
export class KeptAgents<A extends KeptAgent, L extends AgentLaunch<A> = AgentLaunch<A>> {
  readonly #options: KeptAgentsOptions
  readonly #entries = new Map<string, Entry<A, L>>()
  /** Where each session's conversation is open: only that process may write to it. */
  readonly #homes = new Map<string, Entry<A, L>>()
  readonly #endings = new Set<Entry<A, L>>()
  readonly #lost = new Map<string, string>()
  #isClosed = false

  constructor(options: KeptAgentsOptions) {
    this.#options = options
  }

  /**
   * An agent that will do, or a new one. Rejects with a HarnessError when none can be started, with the code `aborted` when this
   * is closed, also meanwhile, and as soon as the signal comes: a start that nobody else waits for is given up then, and is
   * over when this rejects.
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
    // One that is on its way out may still hold the conversation: two processes that write to it lose one of its branches.
    await unlessAborted(this.#ended(request), signal)
    const known = this.#entries.get(launch.key)
    const entry = await this.#entryFor(request)
    const agent = await this.#wait(request, entry, entry.agent)
    this.#refuseWhenClosed()
    const lost = this.#lost.get(sessionId)
    this.told(sessionId)
    return {
      agent,
      isKept: entry === known,
      holders: () => entry.users,
      release: once(() => this.#release(entry)),
      ...(lost === undefined ? {} : { lost }),
    }
  }

  /** A person knows how the session's last agent ended. */
  told(sessionId: string): void {
    this.#lost.delete(sessionId)
  }

  /** The session's agent, if one runs. */
  get(sessionId: string): A | undefined {
    const started = this.#homes.get(sessionId)?.started
    return started?.isUsable ? started : undefined
  }

  all(): A[] {
    return [...this.#entries.values()].flatMap(({ started }) => (started?.isUsable ? [started] : []))
  }

  /**
   * Resolves when nothing of the session runs any more, whether its agent is being started, works or is on its way out. An agent
   * that other sessions use goes on for them.
   */
  async kill(sessionId: string, conversation?: string): Promise<void> {
    await this.#leave(sessionId, conversation)
    await this.#hasten(sessionId)
  }

  /** The same for a session at rest, whose agent gets the time to end by itself: it may have to write its transcript. */
  async release(sessionId: string, conversation?: string): Promise<void> {
    await this.#leave(sessionId, conversation)
    await this.#ended({ sessionId })
    this.told(sessionId)
  }

  /** For good. When it resolves nothing runs any more, and nothing will. */
  async close(): Promise<void> {
    this.#isClosed = true
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
    entry.users += 1
    entry.tenants.add(sessionId)
    this.#homes.set(sessionId, entry)
  }

  /** Whoever does not wait any more holds the agent no longer. */
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
      ...{ launch, agent, givingUp, started: null, users: 0, tenants: new Set() },
      ...{ lastUsedAt: 0, idle: undefined, ending: undefined },
    }
    this.#entries.set(launch.key, entry)
    agent.then(
      started => this.#watch(entry, started),
      () => this.#forget(entry),
    )
    return entry
  }

  /** One that ends by itself is remembered until somebody can be told. What it had started ends with it. */
  #watch(entry: Entry<A, L>, agent: A): void {
    entry.started = agent
    void agent.ended.then(({ exit: { code, signal } }) => {
      const how = signal ? `was ended by ${signal}` : `exited with code ${code}`
      if (!agent.isStopped) for (const sessionId of entry.tenants) this.#lost.set(sessionId, how)
      void this.#end(entry)
    })
  }

  /** A session whose settings changed needs another agent, and its conversation has to be let go of by the one it had. */
  async #leaveHome({ sessionId, conversation, launch: { key } }: AgentRequest<A, L>): Promise<void> {
    const home = this.#homes.get(sessionId)
    if (!home || home.launch.key === key || home.started?.isUsable === false) return
    if (home.users === 0) void this.#end(home)
    else {
      home.tenants.delete(sessionId)
      if (conversation !== undefined) await home.started?.unload?.(conversation)
    }
  }

  /** Ends the session's agent, unless others hold it or are at home there. */
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
      // What runs in the background is work, though nobody talks to the agent.
      if (entry.started?.isResting) void this.#end(entry)
      else this.#startIdling(entry)
    }, this.#options.idleMs ?? IDLE_MS)
  }

  /** The least recently used goes first. No turn waits for it. */
  async #endSurplus(): Promise<void> {
    const { maxIdle = Number.POSITIVE_INFINITY, keepMemory } = this.#options
    const idle = this.#idle().sort((a, b) => a.lastUsedAt - b.lastUsedAt)
    const tooMany = idle.splice(0, Math.max(0, idle.length - maxIdle))
    for (const { entry } of tooMany) void this.#end(entry)
    const surplus = await surplusAgents(idle, keepMemory)
    // Somebody may have come for one of them meanwhile.
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

  /** Someone waits for what is on its way out: no more time for good-byes. */
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

interface Entry<A extends KeptAgent, L extends AgentLaunch<A>> {
  launch: L
  agent: Promise<A>
  /** Ends the start, if it is not over. */
  givingUp: AbortController
  /** Known once it runs. */
  started: A | null
  users: number
  /** Sessions whose conversation was open in it. */
  tenants: Set<string>
  lastUsedAt: number
  idle: NodeJS.Timeout | undefined
  /** Resolves when nothing of it runs any more. */
  ending: Promise<void> | undefined
}

/** Long enough for a person to read and think; a kept agent costs some hundred megabytes, and a little of a core. */
const IDLE_MS = 10 * 60_000

/** Where an agent takes any turn with its key, nobody waits for it here: whoever holds it does. */
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

function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= action()
    return done
  }
}
