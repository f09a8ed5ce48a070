import { randomUUID } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Link } from '../engine/link.ts'
import { inWindow } from '../in-window.ts'
import { subjects } from '../subjects.ts'
import { LogBytes } from './log-bytes.ts'

export interface ShipperOptions {
  link: Link
  machine: string
  /** The projects whose sessions are shipped. */
  projects: () => readonly string[]
  /** The sessions that are open: their logs are looked at often, the others now and then. */
  open: () => readonly { sessionId: string; projectRoot: string }[]
  onFault?: (error: unknown) => void
}

/** How much of a log is in the stream, by the stream's own last message: no state of ours can differ from it. */
interface Place {
  path: string
  /** The file that the offsets belong to. */
  generation: string
  offset: number
  checksum: number
  /** The number of the last message. The next one is taken only after it. */
  seq: number
}

interface GrownLog {
  sessionId: string
  path: string
  /** When it was looked at. */
  size: number
}

/**
 * Follows the logs of this machine's sessions and publishes their bytes. The files stay the truth: what is not
 * acknowledged is read again from them, also after the broker was away or lost its disk.
 */
export class Shipper {
  readonly #options: ShipperOptions
  readonly #places = new Map<string, Place>()
  readonly #sizes = new Map<string, number>()
  readonly #stop = new AbortController()
  readonly #ended: Promise<void>
  #lastSweep = Number.NEGATIVE_INFINITY
  #fault: string | undefined

  constructor(options: ShipperOptions) {
    this.#options = options
    options.link.onConnected(connected => {
      // It may be another broker, or have lost what it had.
      if (connected) this.#places.clear()
    })
    this.#ended = this.#run()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#ended
  }

  /** Ships everything that is in the files now. */
  async flush(): Promise<void> {
    await inWindow(this.#all(), WINDOW, ([sessionId, path]) => this.#ship(sessionId, path))
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      const begun = performance.now()
      try {
        // A log waits for the answer to its last part; the others do not wait for it.
        if (this.#options.link.connected)
          await inWindow(this.#grown(), WINDOW, log => (signal.aborted ? DONE : this.#shipGrown(log)))
        this.#fault = undefined
      } catch (error) {
        this.#report(error)
        await sleep(AGAIN_MS, undefined, { signal }).catch(() => {})
      }
      const rest = PACE_MS - (performance.now() - begun)
      await sleep(Math.max(MIN_REST_MS, rest), undefined, { signal }).catch(() => {})
    }
  }

  /** A disk that is full stays so for long: it is said once. */
  #report(error: unknown): void {
    const fault = error instanceof Error ? error.message : String(error)
    if (this.#options.link.connected && fault !== this.#fault) this.#options.onFault?.(error)
    this.#fault = fault
  }

  async #shipGrown({ sessionId, path, size }: GrownLog): Promise<void> {
    try {
      await this.#ship(sessionId, path)
      this.#sizes.set(path, size)
    } catch (error) {
      // Not known to be stored: the stream is asked how far it came.
      this.#places.delete(sessionId)
      this.#sizes.delete(path)
      throw error
    }
  }

  /** Those whose file has another size than when it was last shipped. */
  *#grown(): Generator<GrownLog> {
    const isSweep = performance.now() - this.#lastSweep > SWEEP_MS
    if (isSweep) this.#lastSweep = performance.now()
    for (const [sessionId, path] of isSweep ? this.#all() : this.#open()) {
      const size = statSync(path, { throwIfNoEntry: false })?.size
      if (size === undefined || (size === this.#sizes.get(path) && this.#places.has(sessionId))) continue
      yield { sessionId, path, size }
    }
  }

  #open(): [string, string][] {
    return this.#options
      .open()
      .map(({ sessionId, projectRoot }) => [sessionId, logPath(projectRoot, sessionId)])
  }

  #all(): [string, string][] {
    return this.#options.projects().flatMap(root => {
      const folder = join(root, '.chirality', 'events')
      return sessionsIn(folder).map((id): [string, string] => [id, logPath(root, id)])
    })
  }

  async #ship(sessionId: string, path: string): Promise<void> {
    const { link, machine } = this.#options
    const subject = subjects.events(machine, sessionId)
    const file = new LogBytes(path)
    let place = this.#places.get(sessionId) ?? (await this.#ask(subject, path))
    for (let hasMore = true; hasMore; ) {
      let part = file.next(place.offset, place.checksum)
      if (part === 'replaced') {
        place = { ...place, generation: randomUUID(), offset: 0, checksum: 0 }
        part = file.next(0, 0)
      }
      this.#places.set(sessionId, place)
      // It was removed meanwhile, or its next line is not whole.
      if (part === undefined || part === 'replaced') return
      const { from, bytes, checksum } = part
      const to = from + bytes.length
      const published = await link.publish(subject, bytes, {
        after: place.seq,
        id: `${sessionId}:${place.generation}:${from}:${to}`,
        headers: {
          'Chi-From': String(from),
          'Chi-To': String(to),
          'Chi-Generation': place.generation,
          'Chi-Checksum': String(checksum),
        },
      })
      // An earlier publication was stored though its acknowledgement was lost.
      const isStored = published.kind === 'stored'
      place = isStored
        ? { ...place, offset: to, checksum, seq: published.seq }
        : await this.#ask(subject, path)
      this.#places.set(sessionId, place)
      hasMore = part.hasMore || !isStored
    }
  }

  async #ask(subject: string, path: string): Promise<Place> {
    const last = await this.#options.link.last('events', subject)
    if (last === undefined) return { path, generation: randomUUID(), offset: 0, checksum: 0, seq: 0 }
    const { headers, seq } = last
    const generation = headers['Chi-Generation'] ?? randomUUID()
    return {
      path,
      generation,
      offset: Number(headers['Chi-To']),
      checksum: Number(headers['Chi-Checksum']),
      seq,
    }
  }
}

export function logPath(projectRoot: string, sessionId: string): string {
  return join(projectRoot, '.chirality', 'events', `${sessionId}.ndjson`)
}

/** The sessions that have a log in a folder. */
export function sessionsIn(folder: string): string[] {
  try {
    return readdirSync(folder).flatMap(name => /^([A-Za-z0-9_-]{1,64})\.ndjson$/.exec(name)?.[1] ?? [])
  } catch {
    return []
  }
}

/** No log is looked at more often. */
const PACE_MS = 100
/** A broker that is slow leaves the machine to its agents. */
const MIN_REST_MS = 20
/** Logs that are shipped at once. */
const WINDOW = 64
const DONE = Promise.resolve()
const SWEEP_MS = 5_000
const AGAIN_MS = 500

/** A piece of a session's log from one of these projects, for a hub that misses it. Empty if there is none. */
export function bytesOf(roots: readonly string[], session: string, from: number): Buffer {
  const root = roots.find(one => existsLog(one, session))
  return root === undefined ? Buffer.alloc(0) : new LogBytes(logPath(root, session)).read(from, MAX_FETCH)
}

function existsLog(root: string, session: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(session) && new LogBytes(logPath(root, session)).exists
}

const MAX_FETCH = 256 * 1024
