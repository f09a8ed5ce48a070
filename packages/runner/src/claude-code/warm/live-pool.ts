import { HarnessError, type HarnessQuery } from '@chirality/core'
import { type IdleAgent, surplusAgents } from '../../process/system/kept-memory.ts'
import { unlessAborted } from '../../turn/turn-stop.ts'
import type { ClaudeCodeHarnessConfig } from '../config.ts'
import { HARNESS_ID } from '../descriptor.ts'
import type { LiveClaude } from './live-claude.ts'
import { adjust, type LiveLaunch } from './live-launch.ts'

/** Who wants a process, and what it is to be like. */
export interface LiveRequest {
  sessionId: string
  /** Names the raw log if a process is started. */
  turnId: string
  launch: LiveLaunch
  /** Nobody wants it any more. */
  signal: AbortSignal
}

/** A turn's hold on its session's process. */
export interface LiveLease {
  live: LiveClaude
  /** It was there before. */
  isKept: boolean
  /** How the process before came to its end, when that was not our doing and nobody was told yet. */
  lost?: string
  /** Resolves when what was only for this turn is gone. */
  release(): Promise<void>
}

/** Keeps one process for each session between its turns, and ends those that nobody uses. */
export class LivePool {
  readonly #config: ClaudeCodeHarnessConfig
  readonly #entries = new Map<string, Entry>()
  readonly #lost = new Map<string, string>()
  readonly #endings = new Map<string, Ending>()
  #isClosed = false

  constructor(config: ClaudeCodeHarnessConfig) {
    this.#config = config
  }

  /**
   * The session's process if it will do, else a new one. Rejects with a HarnessError when none can be started, and as
   * soon as the signal comes: a start that nobody else waits for is given up then, and over when this rejects.
   */
  async acquire(request: LiveRequest): Promise<LiveLease> {
    const { sessionId, signal } = request
    try {
      return await this.#acquire(request)
    } catch (error) {
      if (signal.aborted) await this.#hasten(sessionId)
      this.#refuseWhenClosed()
      throw error
    }
  }

  async #acquire(request: LiveRequest): Promise<LiveLease> {
    const { sessionId } = request
    const known = this.#entries.get(sessionId)
    const entry = await this.#entryFor(request)
    const live = await this.#wait(request, entry, entry.live)
    const isKept = entry === known
    const lost = this.#lost.get(sessionId)
    this.told(sessionId)
    const release = () => this.#release(sessionId, entry)
    return { live, isKept, release, ...(lost === undefined ? {} : { lost }) }
  }

  /** A person knows how the session's last process ended. */
  told(sessionId: string): void {
    this.#lost.delete(sessionId)
  }

  /** The session's process, if one runs. */
  get(sessionId: string): LiveClaude | undefined {
    const started = this.#entries.get(sessionId)?.started
    return started?.isUsable ? started : undefined
  }

  all(): LiveClaude[] {
    return [...this.#entries.values()].flatMap(({ started }) => (started?.isUsable ? [started] : []))
  }

  /** Resolves when nothing of the session runs any more, whether it is being started, works or is on its way out. */
  async kill(sessionId: string): Promise<void> {
    const entry = this.#entries.get(sessionId)
    if (entry) void this.#end(sessionId, entry)
    await this.#hasten(sessionId)
  }

  /** The same for one that rests, which gets the time to end by itself: it may have to write its transcript. */
  async release(sessionId: string): Promise<void> {
    const entry = this.#entries.get(sessionId)
    if (entry) void this.#end(sessionId, entry)
    await this.#ended(sessionId)
    this.told(sessionId)
  }

  /** For good: nothing is started any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const [sessionId, entry] of [...this.#entries]) void this.#end(sessionId, entry)
    await Promise.all([...this.#endings.values()].map(({ done }) => done))
  }

  #refuseWhenClosed(): void {
    if (this.#isClosed) throw new HarnessError('The harness is closed.', 'aborted', HARNESS_ID)
  }

  async #entryFor(request: LiveRequest): Promise<Entry> {
    const { sessionId, launch, signal } = request
    const known = this.#entries.get(sessionId)
    if (known) {
      clearTimeout(known.idle)
      known.users += 1
      if (await this.#wait(request, known, this.#willDo(known, launch))) return known
      void this.#end(sessionId, known)
    }
    // Two processes that write to one conversation lose one of its branches.
    await unlessAborted(this.#ended(sessionId), signal)
    return this.#start(request)
  }

  /** Whoever does not wait any more holds the process no longer. */
  async #wait<T>({ sessionId, signal }: LiveRequest, entry: Entry, step: Promise<T>): Promise<T> {
    try {
      return await unlessAborted(step, signal)
    } catch (error) {
      if (signal.aborted) await this.#release(sessionId, entry)
      throw error
    }
  }

  async #willDo(entry: Entry, launch: LiveLaunch): Promise<boolean> {
    const live = await entry.live.catch(() => null)
    if (!live?.isUsable || entry.launch.key !== launch.key || !isSameConversation(live, entry, launch))
      return false
    entry.launch.tools.use(launch.query.clientTools)
    if (launch.guard) live.launch.guard?.use(launch.guard)
    return adjust(live, launch.query, this.#config)
  }

  #start({ sessionId, turnId, launch }: LiveRequest): Entry {
    this.#refuseWhenClosed()
    const givingUp = new AbortController()
    const live = launch.start({ sessionId, turnId }, givingUp.signal)
    const entry: Entry = { launch, live, givingUp, started: null, users: 1, lastUsedAt: 0, idle: undefined }
    this.#entries.set(sessionId, entry)
    live.then(
      started => this.#watch(sessionId, entry, started),
      () => this.#forget(sessionId, entry),
    )
    return entry
  }

  /** One that ends by itself is remembered until somebody can be told. */
  #watch(sessionId: string, entry: Entry, live: LiveClaude): void {
    entry.started = live
    void live.ended.then(({ exit: { code, signal } }) => {
      const how = signal ? `was ended by ${signal}` : `exited with code ${code}`
      if (!live.isStopped) this.#lost.set(sessionId, how)
      this.#forget(sessionId, entry)
    })
  }

  async #release(sessionId: string, entry: Entry): Promise<void> {
    entry.users -= 1
    if (this.#entries.get(sessionId) !== entry || entry.users > 0) return
    if (entry.launch.isShortLived || !entry.started?.isUsable) return this.#end(sessionId, entry)
    entry.lastUsedAt = performance.now()
    this.#startIdling(sessionId, entry)
    void this.#endSurplus()
  }

  #startIdling(sessionId: string, entry: Entry): void {
    clearTimeout(entry.idle)
    entry.idle = setTimeout(() => {
      // What runs in the background is work, though nobody talks to the agent.
      if (entry.started?.isResting) void this.#end(sessionId, entry)
      else this.#startIdling(sessionId, entry)
    }, this.#config.idleMs ?? IDLE_MS)
  }

  /** The least recently used goes first. No turn waits for it. */
  async #endSurplus(): Promise<void> {
    const { maxIdle = Number.POSITIVE_INFINITY, keepMemory } = this.#config
    const idle = this.#idle().sort((a, b) => a.lastUsedAt - b.lastUsedAt)
    const tooMany = idle.splice(0, Math.max(0, idle.length - maxIdle))
    for (const { sessionId, entry } of tooMany) void this.#end(sessionId, entry)
    const surplus = await surplusAgents(idle, keepMemory)
    // Somebody may have come for one of them meanwhile.
    const stillIdle = new Set(this.#idle().map(({ entry }) => entry))
    for (const { sessionId, entry } of surplus) if (stillIdle.has(entry)) void this.#end(sessionId, entry)
  }

  #idle(): (IdleAgent & { sessionId: string; entry: Entry })[] {
    return [...this.#entries].flatMap(([sessionId, entry]) => {
      const { users, started, lastUsedAt } = entry
      if (users > 0 || !started?.isResting) return []
      return [{ sessionId, entry, lastUsedAt, pid: started.process.pid }]
    })
  }

  #end(sessionId: string, entry: Entry): Promise<void> {
    this.#forget(sessionId, entry)
    const before = this.#endings.get(sessionId)
    const done = Promise.all([before?.done, endEntry(entry)]).then(() => {
      if (this.#endings.get(sessionId) === ending) this.#endings.delete(sessionId)
    })
    const ending: Ending = { entries: [...(before?.entries ?? []), entry], done }
    this.#endings.set(sessionId, ending)
    return done
  }

  async #ended(sessionId: string): Promise<void> {
    await this.#endings.get(sessionId)?.done
  }

  /** Someone waits for what is on its way out: no more time for good-byes. */
  async #hasten(sessionId: string): Promise<void> {
    for (const { started } of this.#endings.get(sessionId)?.entries ?? [])
      void started?.stop({ interruptGraceMs: 0 })
    await this.#ended(sessionId)
  }

  #forget(sessionId: string, entry: Entry): void {
    clearTimeout(entry.idle)
    if (this.#entries.get(sessionId) === entry) this.#entries.delete(sessionId)
  }
}

interface Entry {
  launch: LiveLaunch
  live: Promise<LiveClaude>
  /** Ends the start, if it is not over. */
  givingUp: AbortController
  /** Known once it runs. */
  started: LiveClaude | null
  users: number
  lastUsedAt: number
  idle: NodeJS.Timeout | undefined
}

interface Ending {
  entries: Entry[]
  done: Promise<void>
}

/** Long enough for a person to read and think; a kept agent costs some hundred megabytes, and a little of a core. */
const IDLE_MS = 10 * 60_000

async function endEntry(entry: Entry): Promise<void> {
  entry.givingUp.abort()
  const live = await entry.live.catch(() => null)
  await live?.dismiss()
}

/** Where the process stands is what it last told; one that has told nothing was started for this or for another. */
function isSameConversation(live: LiveClaude, entry: Entry, { query }: LiveLaunch): boolean {
  const { nativeSessionId } = live.translator
  if (nativeSessionId !== null) return query.resumeSessionId === nativeSessionId && !query.forkSession
  return sameStart(entry.launch.query, query)
}

function sameStart(a: HarnessQuery, b: HarnessQuery): boolean {
  return (
    a.resumeSessionId === b.resumeSessionId &&
    a.newSessionId === b.newSessionId &&
    Boolean(a.forkSession) === Boolean(b.forkSession) &&
    a.forkAt === b.forkAt
  )
}
