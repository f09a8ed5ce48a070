import { HarnessError } from '@chirality/core'
import { unlessAborted } from '../../turn/turn-stop.ts'
import { HARNESS_ID } from '../descriptor.ts'
import { AppServer, type AppServerOptions } from './app-server.ts'

/** A session's hold on a server; given back when its turn is over. */
export interface AppServerLease {
  server: AppServer
  /** How many turns run on it, this one included. */
  turns(): number
  /** Resolves when what was only for this turn is gone. */
  release(): Promise<void>
}

/** Who wants a server. The thread is the one that the session goes on with. */
export interface Tenant {
  sessionId: string
  threadId?: string
}

/** What a server is started with. Sessions with the same key share one. */
export interface AppServerLaunch extends AppServerOptions {
  key: string
  /** Ended with its first turn. */
  isShortLived?: boolean
}

/** Keeps app-servers between turns, so that a follow-up does not wait for a process, and ends those nobody uses. */
export class AppServerPool {
  readonly #idleMs: number
  readonly #entries = new Map<string, Entry>()
  /** Where each session's thread is loaded: only that process may write to it. */
  readonly #homes = new Map<string, Entry>()
  readonly #endings = new Set<Promise<void>>()
  /** Aborted when the pool is closed: from then on nothing is started, and what is being started is given up. */
  readonly #closed = new AbortController()

  constructor(idleMs: number) {
    this.#idleMs = idleMs
  }

  /**
   * Rejects with the code `aborted` when the pool is closed, also meanwhile, and as soon as the signal comes: a start
   * that nobody else waits for is given up then, and over when this rejects.
   */
  async acquire(tenant: Tenant, launch: AppServerLaunch, signal: AbortSignal): Promise<AppServerLease> {
    const { sessionId } = tenant
    await unlessAborted(this.#leaveHome(tenant, launch.key), signal)
    // One that is on its way out may still hold the thread.
    await unlessAborted(Promise.all(this.#endings), signal)
    this.#refuseWhenClosed()
    const entry = this.#entryFor(launch)
    entry.turns += 1
    clearTimeout(entry.idle)
    try {
      const server = await unlessAborted(entry.server, signal)
      this.#refuseWhenClosed()
      this.#homes.set(sessionId, entry)
      return { server, turns: () => entry.turns, release: once(() => this.#release(entry)) }
    } catch (error) {
      if (signal.aborted) await this.#release(entry)
      else this.#forget(entry)
      this.#refuseWhenClosed()
      throw error
    }
  }

  /** Where the session's thread is loaded, if it is. */
  homeOf(sessionId: string): AppServer | null {
    const server = this.#homes.get(sessionId)?.started
    return server?.isUsable ? server : null
  }

  /** Ends what runs for a session. The server goes with it, unless other sessions are at home there. */
  async kill({ sessionId, threadId }: Tenant): Promise<void> {
    const home = this.#homes.get(sessionId)
    if (home) {
      this.#homes.delete(sessionId)
      const isShared = home.turns > 1 || [...this.#homes.values()].includes(home)
      if (!isShared) void this.#end(home)
      else if (threadId !== undefined) await home.started?.evict(threadId)
    }
    await Promise.all(this.#endings)
  }

  /** For good. When it resolves nothing runs any more, and nothing will. */
  async close(): Promise<void> {
    this.#closed.abort()
    for (const entry of [...this.#entries.values()]) void this.#end(entry)
    await Promise.all(this.#endings)
  }

  #refuseWhenClosed(): void {
    if (!this.#closed.signal.aborted) return
    throw new HarnessError('This Codex harness has been closed.', 'aborted', HARNESS_ID)
  }

  #entryFor(launch: AppServerLaunch): Entry {
    const known = this.#entries.get(launch.key)
    if (known && known.started?.isUsable !== false) return known
    const { key, isShortLived = false } = launch
    const givingUp = new AbortController()
    const server = AppServer.start(launch, AbortSignal.any([this.#closed.signal, givingUp.signal]))
    const entry: Entry = { key, server, givingUp, started: null, turns: 0, isShortLived, idle: undefined }
    server.then(
      started => {
        entry.started = started
      },
      () => {},
    )
    this.#entries.set(key, entry)
    return entry
  }

  /** A session whose settings changed needs another process, and its thread has to be let go of by the old one. */
  async #leaveHome({ sessionId, threadId }: Tenant, key: string): Promise<void> {
    const home = this.#homes.get(sessionId)
    if (!home || home.key === key || home.started?.isUsable === false) return
    // Others may be at home there.
    if (home.turns === 0) void this.#end(home)
    else if (threadId !== undefined) await home.started?.unload(threadId)
  }

  async #release(entry: Entry): Promise<void> {
    entry.turns -= 1
    if (entry.turns > 0) return
    if (entry.isShortLived || !entry.started?.isUsable) await this.#end(entry)
    else if (this.#entries.get(entry.key) === entry)
      entry.idle = setTimeout(() => void this.#end(entry), this.#idleMs)
  }

  #end(entry: Entry): Promise<void> {
    this.#forget(entry)
    const ending = stopEntry(entry).finally(() => this.#endings.delete(ending))
    this.#endings.add(ending)
    return ending
  }

  #forget(entry: Entry): void {
    clearTimeout(entry.idle)
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key)
    for (const [sessionId, home] of this.#homes) if (home === entry) this.#homes.delete(sessionId)
  }
}

interface Entry {
  key: string
  server: Promise<AppServer>
  /** Ends the start, if it is not over. */
  givingUp: AbortController
  /** Known once it has answered. */
  started: AppServer | null
  turns: number
  isShortLived: boolean
  idle: NodeJS.Timeout | undefined
}

async function stopEntry(entry: Entry): Promise<void> {
  entry.givingUp.abort()
  const server = await entry.server.catch(() => null)
  await server?.stop({ interruptGraceMs: 0 })
}

function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= action()
    return done
  }
}
