import { HarnessError } from '@chirality/core'
import { AppServer, type AppServerOptions } from './app-server.ts'
import { HARNESS_ID } from './config.ts'

/** A session's hold on a server; given back when its turn is over. */
export interface AppServerLease {
  server: AppServer
  /** How many turns run on it, this one included. */
  turns(): number
  /** Resolves when what was only for this turn is gone. */
  release(): Promise<void>
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

  constructor(idleMs: number) {
    this.#idleMs = idleMs
  }

  async acquire(sessionId: string, launch: AppServerLaunch): Promise<AppServerLease> {
    await this.#moveHome(sessionId, launch.key)
    const entry = this.#entryFor(launch)
    entry.turns += 1
    clearTimeout(entry.idle)
    try {
      const server = await entry.server
      this.#homes.set(sessionId, entry)
      return { server, turns: () => entry.turns, release: once(() => this.#release(entry)) }
    } catch (error) {
      this.#forget(entry)
      throw error
    }
  }

  async close(): Promise<void> {
    const entries = [...this.#entries.values()]
    this.#entries.clear()
    this.#homes.clear()
    await Promise.all(entries.map(stopEntry))
  }

  #entryFor(launch: AppServerLaunch): Entry {
    const known = this.#entries.get(launch.key)
    if (known && known.started?.isAlive !== false) return known
    const entry: Entry = {
      key: launch.key,
      server: AppServer.start(launch),
      started: null,
      turns: 0,
      isShortLived: launch.isShortLived === true,
      idle: undefined,
    }
    entry.server.then(
      server => {
        entry.started = server
      },
      () => {},
    )
    this.#entries.set(launch.key, entry)
    return entry
  }

  /** A session whose settings changed needs another process, and its thread has to be let go of by the old one. */
  async #moveHome(sessionId: string, key: string): Promise<void> {
    const home = this.#homes.get(sessionId)
    if (!home || home.key === key || home.started?.isAlive === false) return
    if (home.turns > 0) {
      const message =
        'The tools of this session changed while other sessions use its app-server. Try again when they rest.'
      throw new HarnessError(message, 'busy', HARNESS_ID)
    }
    this.#forget(home)
    await stopEntry(home)
  }

  async #release(entry: Entry): Promise<void> {
    entry.turns -= 1
    if (entry.turns > 0) return
    if (entry.isShortLived || entry.started?.isAlive === false) {
      this.#forget(entry)
      await stopEntry(entry)
      return
    }
    entry.idle = setTimeout(() => {
      this.#forget(entry)
      void stopEntry(entry)
    }, this.#idleMs)
    // A kept server is no reason for a program to go on living.
    entry.idle.unref()
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
  /** Known once it has answered. */
  started: AppServer | null
  turns: number
  isShortLived: boolean
  idle: NodeJS.Timeout | undefined
}

async function stopEntry(entry: Entry): Promise<void> {
  clearTimeout(entry.idle)
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
