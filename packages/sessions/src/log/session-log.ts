import { type Envelope, joinDeltas, type UIEvent, type UIEventType } from '@chirality/core'
import { type FileOps, realFileOps, StorageError, toStorageError } from '@chirality/disk'
import { ensureProjectFolder } from '../files/project-folder.ts'
import { requireSessionId } from '../files/session-id.ts'
import { readTorn, type TornLine } from './envelope-line.ts'
import type { EventText } from './event-text.ts'
import type { WrittenLines } from './file/batch.ts'
import { LogContents } from './file/log-contents.ts'
import { type LogHealth, LogWriter } from './file/log-writer.ts'
import { LogReader } from './log-reader.ts'
import { RecentBatches } from './recent-batches.ts'
import { Subscription, type SubscriptionSource } from './subscription.ts'

export interface SessionLogOptions {
  /** The delay before an ordinary event is synced. Default 50 ms; longer while more than five logs are active. */
  syncDelayMs?: number
  /** The interval between retries of a log that cannot be written. Default 500 ms. */
  retryDelayMs?: number
  now?: () => Date
  ops?: FileOps
  /** Whether an event whose line was never finished is going to be appended again: it is no gap then. */
  isToldAgain?: (torn: TornLine, log: SessionLog) => Promise<boolean>
}

export interface AppendOptions {
  turnId: string | null
  /** Syncs the event at once, as for user messages, decisions, results and ends of turns. */
  durable?: boolean
}

export interface ReadOptions {
  /** The limit of one read, but at least one envelope is returned. Default 8 MiB. */
  maxBytes?: number
}

type OpenSubscription = Pick<Subscription<never>, 'wake' | 'finish' | 'end'>

/** The events of one session in order: the source that all other state is derived from. */
export class SessionLog {
  readonly sessionId: string
  readonly path: string
  readonly #contents: LogContents
  readonly #writer: LogWriter
  readonly #reader: LogReader
  readonly #recent = new RecentBatches()
  readonly #subscriptions = new Set<OpenSubscription>()
  readonly #healthListeners = new Set<(health: LogHealth) => void>()
  /** Callers that wait until the log accepts events again. */
  readonly #waiting = new Set<() => void>()
  #closing: Promise<void> | undefined
  #closed = false
  #release: () => Promise<void> = () => this.shutDown()

  private constructor(sessionId: string, contents: LogContents, options: SessionLogOptions) {
    const { ops = realFileOps, now = () => new Date() } = options
    this.sessionId = sessionId
    this.path = contents.file.path
    this.#contents = contents
    this.#writer = new LogWriter(contents, {
      sessionId,
      now,
      syncDelayMs: options.syncDelayMs ?? SYNC_DELAY_MS,
      retryDelayMs: options.retryDelayMs ?? RETRY_DELAY_MS,
      onPublish: (envelopes, written) => this.#publish(envelopes, written),
      onHealth: health => this.#announce(health),
    })
    this.#reader = new LogReader({
      ops,
      sessionId,
      path: this.path,
      fd: () => contents.file.fd,
      index: () => contents.index,
      rebuildIndex: () => contents.rebuildIndex(this.lastSeq),
    })
  }

  /** Use `openSessionLog`: a log must have one writer. */
  static async open(projectRoot: string, id: string, options: SessionLogOptions = {}): Promise<SessionLog> {
    const sessionId = requireSessionId(id)
    const { ops = realFileOps } = options
    const ensureFolder = () => ensureProjectFolder(projectRoot, EVENTS_FOLDER)
    const folder = await ensureFolder().catch((error: unknown) => {
      throw toStorageError(error, projectRoot)
    })
    try {
      const { contents, torn } = await LogContents.open({ ops, folder, sessionId, ensureFolder })
      const log = new SessionLog(sessionId, contents, options)
      const line = torn && readTorn(torn.start)
      if (torn && !(line && (await options.isToldAgain?.(line, log)))) log.#tellTorn(torn.file)
      return log
    } catch (error) {
      throw toStorageError(error, folder)
    }
  }

  /** The last number that readers can have. */
  get lastSeq(): number {
    return this.#writer.publishedSeq
  }

  get health(): LogHealth {
    return this.#writer.health
  }

  /** Whether somebody follows it. */
  get isFollowed(): boolean {
    return this.#subscriptions.size > 0
  }

  get isOpen(): boolean {
    return this.#closing === undefined
  }

  onHealth(listener: (health: LogHealth) => void): () => void {
    this.#healthListeners.add(listener)
    return () => this.#healthListeners.delete(listener)
  }

  /**
   * Resolves when the log accepts events: at once, or when the disk has space again. Also resolves when the log is
   * closed.
   */
  async whenWritable(): Promise<void> {
    while (this.#writer.pausedBy !== undefined && this.#closing === undefined) {
      await new Promise<void>(resolve => this.#waiting.add(resolve))
    }
  }

  /** Accepts an event: it will be written, in this order. Throws while the log is paused: wait for `whenWritable()`. */
  append(event: UIEvent, { turnId, durable = false }: AppendOptions): Envelope {
    this.#requireWritable()
    return this.#writer.append(event, turnId, durable || AT_ONCE.has(event.type))
  }

  /**
   * Accepts events that arrived together: pieces of one text are joined, and all of it is one write and one batch for
   * readers.
   */
  appendAll(events: readonly UIEvent[], { turnId, durable = false }: AppendOptions): Envelope[] {
    this.#requireWritable()
    const joined = joinDeltas(events)
    const isUrgent = durable || joined.some(({ type }) => AT_ONCE.has(type))
    return this.#writer.appendAll(joined, turnId, isUrgent)
  }

  /**
   * For a copy of a log that another machine writes: adds whole lines of it, byte for byte. A log gets either these or
   * events.
   */
  appendLines(lines: Uint8Array): void {
    this.#requireWritable()
    this.#writer.appendLines(lines)
    this.#recent.clear()
    for (const subscription of this.#subscriptions) subscription.wake()
  }

  /** Resolves when everything that was appended so far is on the disk. Rejects if the log is paused. */
  async flush(): Promise<void> {
    await this.#writer.flush()
  }

  /**
   * Everything after `afterSeq`, first from the file, then live: without gaps or duplicates. A reader may be slow. Ends
   * when the log is closed. If the file cannot be read `next()` rejects: subscribe again from the cursor.
   */
  subscribe(afterSeq: number): AsyncIterableIterator<Envelope[]> {
    return this.#subscribe(afterSeq, seq => {
      const bounds = { maxBytes: BATCH_BYTES }
      const batch = this.#recent.after(seq) ?? this.readAfter(seq, BATCH_EVENTS, bounds)
      const last = batch.at(-1)
      return last && { batch, lastSeq: last.seq }
    })
  }

  /**
   * The same as JSON text, for callers that only pass it on. With `textOnce` a text that was sent
   * in pieces is not repeated live; `TextsOnce` of core restores it.
   */
  subscribeText(afterSeq: number, { textOnce = false } = {}): AsyncIterableIterator<EventText> {
    const knownFrom = textOnce ? Math.max(0, afterSeq) : undefined
    return this.#subscribe(afterSeq, seq => {
      const bounds = { lastSeq: this.lastSeq, maxBytes: BATCH_BYTES }
      const batch =
        this.#recent.textAfter(seq, knownFrom) ?? this.#reader.textAfter(seq, BATCH_EVENTS, bounds)
      return batch && { batch, lastSeq: batch.to }
    })
  }

  #subscribe<T>(afterSeq: number, after: SubscriptionSource<T>['after']): Subscription<T> {
    this.#requireOpen()
    if (afterSeq > this.lastSeq) {
      const message = `The log of session ${this.sessionId} ends at ${this.lastSeq}, before ${afterSeq}. Read it again from 0.`
      throw new StorageError('cursor-ahead', this.path, message)
    }
    const lastSeq = () => this.lastSeq
    const onEnd = () => this.#onSubscriptionEnd(subscription)
    const subscription: Subscription<T> = new Subscription({ lastSeq, after, onEnd }, Math.max(0, afterSeq))
    this.#subscriptions.add(subscription)
    return subscription
  }

  readAfter(seq: number, limit: number, { maxBytes = READ_BYTES }: ReadOptions = {}): Envelope[] {
    return this.#reader.after(seq, limit, { lastSeq: this.lastSeq, maxBytes })
  }

  /** The last envelopes before `seq`, oldest first. */
  readBefore(seq: number, limit: number, { maxBytes = READ_BYTES }: ReadOptions = {}): Envelope[] {
    return this.#reader.before(seq, limit, { lastSeq: this.lastSeq, maxBytes })
  }

  readLast(limit: number, options?: ReadOptions): Envelope[] {
    return this.readBefore(this.lastSeq + 1, limit, options)
  }

  /**
   * Each `openSessionLog` needs one `close`; the last one writes the remaining events. Readers get the rest and then
   * end.
   */
  close(): Promise<void> {
    return this.#release()
  }

  /** For the table of open logs, which counts the users of this one. */
  onClose(release: () => Promise<void>): void {
    this.#release = release
  }

  shutDown(): Promise<void> {
    this.#closing ??= this.#finish()
    this.#wakeWaiting()
    return this.#closing
  }

  /** Stops at once and closes the file, for a session that is deleted. */
  async abandon(): Promise<void> {
    for (const subscription of this.#subscriptions) subscription.end()
    await this.shutDown().catch(() => {})
  }

  async #finish(): Promise<void> {
    try {
      await this.#writer.close()
    } finally {
      for (const subscription of [...this.#subscriptions]) subscription.finish()
      this.#closed = true
      this.#recent.clear()
      if (this.#subscriptions.size === 0) this.#contents.close()
    }
  }

  #publish(envelopes: Envelope[], written: WrittenLines): void {
    if (this.#subscriptions.size === 0) return this.#recent.clear()
    this.#recent.push(envelopes, written)
    for (const subscription of this.#subscriptions) subscription.wake()
  }

  #announce(health: LogHealth): void {
    for (const listener of [...this.#healthListeners]) {
      try {
        listener(health)
      } catch {
        // A failing listener must not prevent the log from being written.
      }
    }
    this.#wakeWaiting()
  }

  #wakeWaiting(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }

  #onSubscriptionEnd(subscription: OpenSubscription): void {
    this.#subscriptions.delete(subscription)
    if (this.#subscriptions.size === 0) this.#recent.clear()
    if (this.#closed && this.#subscriptions.size === 0) this.#contents.close()
  }

  /** The incomplete line has no other place in the log, so this event takes its number. */
  #tellTorn(file: string): void {
    const { sessionId } = this
    const reason = `The last line was never finished. What there was of it is in ${file}.`
    const event: UIEvent = { type: 'log:gap', sessionId, afterSeq: this.lastSeq, missing: 1, reason }
    this.#writer.append(event, null, true)
  }

  #requireWritable(): void {
    this.#requireOpen()
    if (this.#writer.pausedBy !== undefined) throw this.#writer.pausedBy
  }

  #requireOpen(): void {
    if (this.#closing === undefined) return
    throw new StorageError('closed', this.path, `The log of session ${this.sessionId} is closed.`)
  }
}

export const EVENTS_FOLDER = 'events'
const SYNC_DELAY_MS = 50
const RETRY_DELAY_MS = 500
const BATCH_EVENTS = 512
const BATCH_BYTES = 256 * 1024
export const READ_BYTES = 8 * 1024 * 1024

/** User messages, decisions, results and ends of turns: losing one would make the user repeat it or pay twice. */
const AT_ONCE: ReadonlySet<UIEventType> = new Set<UIEventType>([
  'turn:start',
  'permission:resolved',
  'session:complete',
  'session:error',
  'turn:end',
])
