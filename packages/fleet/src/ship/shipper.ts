import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findProjectFolder, realFileOps, StorageError, toStorageError } from '@chirality/sessions'
import type { Link } from '../engine/link.ts'
import { inWindow } from '../in-window.ts'
import { subjects } from '../subjects.ts'
import { AwakeSessions, type ShippableSessions } from './awake-sessions.ts'
import { LogBytes } from './log-bytes.ts'

export interface ShipperOptions {
  link: Link
  machine: string
  /** Projects whose sessions are shipped. */
  projects: () => readonly string[]
  /** Logs of busy ones are checked often, all others now and then. */
  sessions: ShippableSessions
  onFault?: (error: unknown) => void
}

/**
 * How much of a log is in the stream, taken from the stream's own last message, so no local state can differ from it.
 */
interface ShippedPosition {
  path: string
  /** Names the file that the offsets belong to. */
  generation: string
  offset: number
  checksum: number
  /** Number of the last message. The next one is accepted only after it. */
  seq: number
}

type Next = 'now' | 'soon' | 'woken'

interface Log {
  sessionId: string
  path: string
}

/**
 * Follows the logs of this machine's sessions and publishes their bytes. The files remain the truth: unacknowledged
 * bytes are read again from them, also after the broker was away or lost its disk.
 */
export class Shipper {
  readonly #options: ShipperOptions
  readonly #places = new Map<string, ShippedPosition>()
  readonly #sizes = new Map<string, number>()
  /** Logs of sessions that are not open and that have grown, by path. Each pass ships some parts of them. */
  readonly #behind = new Map<string, Log>()
  /** Unusable logs and folders by path, with the reported reason. */
  readonly #unusable = new Map<string, string>()
  readonly #awake: AwakeSessions
  #wake: () => void = () => {}
  readonly #stop = new AbortController()
  readonly #ended: Promise<void>
  /** Bytes read in this pass. */
  #readBytes = 0
  #lastSweep = Number.NEGATIVE_INFINITY
  #fault: string | undefined

  constructor(options: ShipperOptions) {
    this.#options = options
    this.#awake = new AwakeSessions(options.sessions, () => this.#wake())
    options.link.onConnected(connected => {
      if (!connected) return
      // It may be another broker, or have lost its data.
      this.#places.clear()
      this.#lastSweep = Number.NEGATIVE_INFINITY
      this.#wake()
    })
    this.#ended = this.#run()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.#wake()
    this.#awake.close()
    await this.#ended
  }

  /** Ships everything that is in the files now. */
  async flush(): Promise<void> {
    await inWindow(await this.#all(), WINDOW, async log => {
      for (let hasMore = true; hasMore; ) hasMore = await this.#shipOne(log)
    })
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      const begun = performance.now()
      let next: Next = 'now'
      try {
        next = this.#options.link.connected ? await this.#pass() : 'soon'
        this.#fault = undefined
      } catch (error) {
        this.#report(error)
        await sleep(AGAIN_MS, undefined, { signal }).catch(() => {})
      }
      if (next === 'woken') await this.#untilWoken(begun)
      const pace = next === 'soon' ? PACE_MS : 0
      const rest = pace - (performance.now() - begun)
      await sleep(Math.max(MIN_REST_MS, rest), undefined, { signal }).catch(() => {})
    }
  }

  /** Until a session does something, or the next sweep is due. */
  async #untilWoken(begun: number): Promise<void> {
    // One that woke during the pass.
    if (this.#awake.list().length > 0 || this.#stop.signal.aborted) return
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, SWEEP_MS - (performance.now() - begun))
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Reports a fault once: a full disk stays full for long. */
  #report(error: unknown): void {
    const fault = error instanceof Error ? error.message : String(error)
    if (this.#options.link.connected && fault !== this.#fault) this.#options.onFault?.(error)
    this.#fault = fault
  }

  /**
   * Ships one part of each grown log of an open session, then parts of the others: a backlog of gigabytes must not
   * delay a live session. Resolves with when to look again.
   */
  async #pass(): Promise<Next> {
    const { signal } = this.#stop
    if (performance.now() - this.#lastSweep > SWEEP_MS) {
      for (const log of await this.#all()) this.#behind.set(log.path, log)
      this.#lastSweep = performance.now()
    }
    const open = await this.#open()
    const again: Log[] = []
    let isLiveBehind = false
    this.#readBytes = 0
    try {
      // Each log waits for the answer to its last part, independently of the others.
      await inWindow(this.#next(open), WINDOW, async ({ log, isOpen }) => {
        if (signal.aborted || !this.#hasGrown(log) || !(await this.#shipOne(log))) return
        if (isOpen) isLiveBehind = true
        else again.push(log)
      })
    } finally {
      for (const log of again) this.#behind.set(log.path, log)
    }
    if (isLiveBehind || this.#behind.size > 0) return 'now'
    return open.length > 0 ? 'soon' : 'woken'
  }

  *#next(open: Log[]): Generator<{ log: Log; isOpen: boolean }> {
    for (const log of open) {
      this.#behind.delete(log.path)
      yield { log, isOpen: true }
    }
    for (const [path, log] of this.#behind) {
      if (this.#readBytes >= PASS_BYTES) return
      this.#behind.delete(path)
      yield { log, isOpen: false }
    }
  }

  /** True if the file has another size than at the last shipment. */
  #hasGrown({ sessionId, path }: Log): boolean {
    try {
      const size = sizeOf(path)
      return size !== undefined && (size !== this.#sizes.get(path) || !this.#places.has(sessionId))
    } catch (error) {
      this.#skip(path, error)
      return false
    }
  }

  /** Ships the next part of a log; true if it has more. An unreadable log is skipped and the others go on. */
  async #shipOne(log: Log): Promise<boolean> {
    const { sessionId, path } = log
    try {
      const size = sizeOf(path)
      const hasMore = await this.#ship(log)
      // A log with more parts is checked again.
      if (hasMore || size === undefined) this.#sizes.delete(path)
      else this.#sizes.set(path, size)
      this.#unusable.delete(path)
      return hasMore
    } catch (error) {
      // The part may not be stored, so the stream is asked how far it got.
      this.#places.delete(sessionId)
      this.#sizes.delete(path)
      if (!(error instanceof StorageError)) throw error
      this.#skip(path, error)
      return false
    }
  }

  /** Reports each unusable path once, up to a limit: a repository may have thousands of them. */
  #skip(path: string, error: unknown): void {
    const fault = toStorageError(error, path)
    if (this.#unusable.get(path) === fault.message || this.#unusable.size >= MAX_UNUSABLE) return
    this.#unusable.set(path, fault.message)
    this.#options.onFault?.(fault)
  }

  async #open(): Promise<Log[]> {
    const open = this.#awake.list()
    const folders = new Map<string, string | undefined>()
    for (const { projectRoot } of open)
      if (!folders.has(projectRoot)) folders.set(projectRoot, await this.#folder(projectRoot))
    return open.flatMap(({ sessionId, projectRoot }) =>
      folders.get(projectRoot) === undefined ? [] : [{ sessionId, path: logPath(projectRoot, sessionId) }],
    )
  }

  async #all(): Promise<Log[]> {
    const logs: Log[] = []
    for (const root of this.#options.projects()) {
      const folder = await this.#folder(root)
      if (folder === undefined) continue
      for (const sessionId of sessionsIn(folder)) logs.push({ sessionId, path: logPath(root, sessionId) })
    }
    return logs
  }

  /** The folder of a project's logs, if it has one. A symlink is not followed. */
  async #folder(root: string): Promise<string | undefined> {
    try {
      const folder = await findProjectFolder(root, EVENTS)
      this.#unusable.delete(root)
      return folder
    } catch (error) {
      // A removed project has no logs.
      if (!(error instanceof StorageError && error.code.startsWith('project-'))) this.#skip(root, error)
      return undefined
    }
  }

  /** Publishes the next part of a log; true if it has more. */
  async #ship({ sessionId, path }: Log): Promise<boolean> {
    const { link, machine } = this.#options
    const subject = subjects.events(machine, sessionId)
    const file = new LogBytes(path)
    let place = this.#places.get(sessionId) ?? (await this.#ask(subject, path))
    let part = file.next(place.offset, place.checksum)
    if (part === 'replaced') {
      place = { ...place, generation: randomUUID(), offset: 0, checksum: 0 }
      part = file.next(0, 0)
    }
    this.#places.set(sessionId, place)
    // The log was removed meanwhile, or its next line is incomplete.
    if (part === undefined || part === 'replaced') return false
    const { from, bytes, checksum, hasMore } = part
    this.#readBytes += bytes.length
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
    // On a conflict an earlier publication was stored although its acknowledgement was lost.
    const isStored = published.kind === 'stored'
    this.#places.set(
      sessionId,
      isStored ? { ...place, offset: to, checksum, seq: published.seq } : await this.#ask(subject, path),
    )
    return hasMore || !isStored
  }

  async #ask(subject: string, path: string): Promise<ShippedPosition> {
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
  return join(projectRoot, '.chirality', EVENTS, `${sessionId}.ndjson`)
}

const EVENTS = 'events'

/** Size of a log. Undefined if it is missing. */
function sizeOf(path: string): number | undefined {
  try {
    const facts = realFileOps.lstat(path)
    if (facts?.isFile() === false)
      throw new StorageError('unsafe', path, `${path} is not a file. It is not sent to the hubs. Remove it.`)
    return facts?.size
  } catch (error) {
    throw toStorageError(error, path)
  }
}

/** Sessions that have a log in the folder. */
function sessionsIn(folder: string): string[] {
  try {
    return readdirSync(folder).flatMap(name => /^([A-Za-z0-9_-]{1,64})\.ndjson$/.exec(name)?.[1] ?? [])
  } catch {
    return []
  }
}

/** Pause between two checks of one log. */
const PACE_MS = 100
/** Minimum pause, so that a slow broker leaves the CPU to the agents. */
const MIN_REST_MS = 20
/** Number of logs shipped at once. */
const WINDOW = 64
/** After this many bytes a pass starts no further log of a closed session. */
const PASS_BYTES = 4 * 1024 * 1024
const MAX_UNUSABLE = 100
const SWEEP_MS = 5_000
const AGAIN_MS = 500

/** A piece of a session's log in one of these projects, for a hub that lacks it. Empty if there is none. */
export async function bytesOf(roots: readonly string[], session: string, from: number): Promise<Buffer> {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(session)) return Buffer.alloc(0)
  for (const root of roots) {
    const log = new LogBytes(logPath(root, session))
    // A folder or log that is no real one counts as missing; the shipper reports it.
    const folder = await findProjectFolder(root, EVENTS).catch(() => undefined)
    if (folder !== undefined && log.exists) return log.read(from, MAX_FETCH)
  }
  return Buffer.alloc(0)
}

const MAX_FETCH = 256 * 1024
