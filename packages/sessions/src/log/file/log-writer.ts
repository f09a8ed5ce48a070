import type { Envelope, StatusEvent, UIEvent } from '@chirality/core'
import { StorageError, toStorageError } from '@chirality/disk'
import { Batch, type WrittenLines } from './batch.ts'
import { GroupSync } from './group-sync.ts'
import type { Fault, LogContents } from './log-contents.ts'

export type LogHealth = { state: 'ok' } | { state: 'paused'; error: StorageError }

export interface LogWriterOptions {
  sessionId: string
  now: () => Date
  syncDelayMs: number
  retryDelayMs: number
  /** Called once the operating system has the lines. */
  onPublish: (envelopes: Envelope[], written: WrittenLines) => void
  onHealth: (health: LogHealth) => void
}

/**
 * Numbers events, writes them once for each turn of the event loop, syncs in groups, and publishes the written ones. If
 * the file cannot be written it keeps the accepted events, refuses new ones, and retries.
 */
export class LogWriter {
  readonly #contents: LogContents
  readonly #options: LogWriterOptions
  readonly #batch = new Batch()
  readonly #sync: GroupSync
  #publishedSeq: number
  #clock = { time: Number.NaN, text: '' }
  #fault: Fault | undefined
  #syncFailed = false
  #paused: StorageError | undefined
  #recovering: Promise<void> | undefined
  #retryTimer: NodeJS.Timeout | undefined
  #indexTimer: NodeJS.Timeout | undefined
  #closed = false

  constructor(contents: LogContents, options: LogWriterOptions) {
    this.#contents = contents
    this.#options = options
    this.#publishedSeq = contents.index.count
    this.#sync = new GroupSync({
      delayMs: options.syncDelayMs,
      sync: () => contents.file.sync(),
      onSynced: () => this.#saveIndexSoon(),
      onError: () => this.#onSyncError(),
    })
    this.#sync.settle(this.#publishedSeq)
  }

  get publishedSeq(): number {
    return this.#publishedSeq
  }

  get health(): LogHealth {
    return this.#paused === undefined ? { state: 'ok' } : { state: 'paused', error: this.#paused }
  }

  get pausedBy(): StorageError | undefined {
    return this.#paused
  }

  append(event: UIEvent, turnId: string | null, urgent: boolean): Envelope {
    const envelope = this.#add(event, turnId)
    this.#batch.urgent ||= urgent
    if (urgent || this.#batch.isFull) this.drain()
    else atEndOfLoopTurn(this.#drain)
    return envelope
  }

  /** Writes events that arrived together in one write, at once. */
  appendAll(events: readonly UIEvent[], turnId: string | null, urgent: boolean): Envelope[] {
    const envelopes = events.map(event => this.#add(event, turnId))
    this.#batch.urgent ||= urgent
    this.drain()
    return envelopes
  }

  #add(event: UIEvent, turnId: string | null): Envelope {
    const { sessionId } = this.#options
    const seq = this.#publishedSeq + this.#batch.count + 1
    const envelope: Envelope = { seq, at: this.#at(), sessionId, turnId, event }
    try {
      this.#batch.add(envelope)
    } catch (error) {
      // The event is nested too deeply, or too long for one string. The spool has it; a note replaces it here.
      envelope.event = notice(sessionId, 'error', {
        kind: 'log_unwritable',
        message: `An event of type ${event.type} cannot be kept: ${error instanceof Error ? error.message : error}`,
      })
      this.#batch.add(envelope)
    }
    return envelope
  }

  /** Lines that another machine numbered. Throws if they were not written. */
  appendLines(bytes: Uint8Array): void {
    const { file, index } = this.#contents
    const state = this.#contents.appendLines(bytes)
    if (state !== 'sound')
      throw new StorageError('changed', file.path, `Something else changed ${file.path}.`)
    this.#publishedSeq = index.count
    this.#sync.wrote(this.#publishedSeq, false)
  }

  drain(): void {
    if (this.#fault !== undefined || this.#batch.count === 0 || this.#closed) return
    const { envelopes, written, urgent } = this.#batch
    try {
      const state = this.#contents.append(this.#batch)
      if (state !== 'sound') return this.#recoverFrom(state)
    } catch (error) {
      this.#fault = 'write'
      return this.#pause(error)
    }
    this.#batch.clear()
    this.#publishedSeq += envelopes.length
    this.#sync.wrote(this.#publishedSeq, urgent)
    this.#options.onPublish(envelopes, written)
  }

  /** Resolves when everything that was appended is on the disk; rejects while the log is paused. */
  async flush(): Promise<void> {
    const lastSeq = this.#publishedSeq + this.#batch.count
    this.drain()
    if (this.#paused !== undefined) throw this.#paused
    await this.#sync.whenSynced(lastSeq)
  }

  async close(): Promise<void> {
    try {
      await this.flush()
    } catch (error) {
      const lost = this.#batch.count
      if (lost === 0) throw error
      const { code, path, message } = toStorageError(error, this.#contents.file.path)
      throw new StorageError(
        code,
        path,
        `${lost} events could not be written before the log was closed. ${message}`,
      )
    } finally {
      this.#closed = true
      clearTimeout(this.#retryTimer)
      clearTimeout(this.#indexTimer)
      await this.#sync.stop()
      await this.#recovering
      this.#contents.index.save()
    }
  }

  /** Formatting a date takes as long as writing a line, so it is cached for a millisecond. */
  #at(): string {
    const now = this.#options.now()
    if (now.getTime() !== this.#clock.time) this.#clock = { time: now.getTime(), text: now.toISOString() }
    return this.#clock.text
  }

  readonly #drain = () => this.drain()

  /** The index is a cache that can be rebuilt, so it is written less often than the log. */
  #saveIndexSoon(): void {
    if (this.#closed) return
    this.#indexTimer ??= setTimeout(() => {
      this.#indexTimer = undefined
      this.#contents.index.save()
    }, INDEX_DELAY_MS)
  }

  #onSyncError(): void {
    if (this.#closed) return
    this.#syncFailed = true
    // A running repair has to finish first.
    if (this.#fault === undefined) this.#recoverFrom('sync')
  }

  #recoverFrom(fault: Fault): void {
    this.#fault = fault
    const recovering = this.#recover(fault).finally(() => {
      // The writes at its end may have failed too; the next repair is then already running.
      if (this.#recovering === recovering) this.#recovering = undefined
    })
    this.#recovering = recovering
  }

  async #recover(fault: Fault): Promise<void> {
    let wrong = 0
    try {
      await this.#contents.recover(fault, this.#publishedSeq)
      // After a failed sync no later one can be trusted, not even on a new descriptor of the same file.
      if (this.#syncFailed && !REWRITES.has(fault)) await this.#contents.recover('sync', this.#publishedSeq)
      wrong = this.#contents.countWrong(this.#sync.syncedSeq + 1, this.#publishedSeq)
    } catch (error) {
      return this.#pause(error)
    }
    if (this.#syncFailed || REWRITES.has(fault)) this.#sync.settle(this.#publishedSeq)
    this.#syncFailed = false
    this.#fault = undefined
    this.#batch.storeWhole()
    if (this.#closed) return
    if (fault !== 'write') this.#tell(fault, wrong)
    this.drain()
    if (this.#fault === undefined) this.#resume()
  }

  #tell(fault: keyof typeof FAULT_NOTICES, wrong: number): void {
    const { kind, message } = FAULT_NOTICES[fault]
    const lost = wrong === 0 ? '' : ` ${wrong} of its last events could not be saved.`
    const event = notice(this.#options.sessionId, 'warn', { kind, message: message + lost })
    this.append(event, null, true)
  }

  #pause(cause: unknown): void {
    const error = toStorageError(cause, this.#contents.file.path)
    if (!this.#closed) {
      this.#retryTimer = setTimeout(() => this.#retry(), this.#options.retryDelayMs)
    }
    this.#sync.giveUp(error)
    if (this.#paused !== undefined) return
    this.#paused = error
    this.#options.onHealth({ state: 'paused', error })
  }

  #retry(): void {
    if (this.#fault !== undefined && this.#recovering === undefined) this.#recoverFrom(this.#fault)
  }

  #resume(): void {
    const error = this.#paused
    if (error === undefined) return
    this.#paused = undefined
    const message = `The session log could not be written for a while: ${error.message} Nothing that reached it is missing.`
    const event = notice(this.#options.sessionId, 'warn', { kind: 'log_resumed', message })
    this.append(event, null, true)
    this.#options.onHealth({ state: 'ok' })
  }
}

const INDEX_DELAY_MS = 2_000

const REWRITES: ReadonlySet<Fault> = new Set<Fault>(['gone', 'sync'])

const FAULT_NOTICES = {
  gone: {
    kind: 'log_recreated',
    message: 'The session log was deleted or replaced while it was in use, and was written again.',
  },
  changed: {
    kind: 'log_changed',
    message:
      'Something else changed the session log while it was in use. What it lacks now is shown as a gap.',
  },
  sync: {
    kind: 'log_rewritten',
    message: 'The disk reported an error, so the session log was written again to a new file.',
  },
}

function notice(
  sessionId: string,
  level: StatusEvent['level'],
  { kind, message }: { kind: string; message: string },
): StatusEvent {
  return { type: 'status', sessionId, status: 'notice', level, message, data: { kind } }
}

/**
 * Calls each function once, at the end of this turn of the event loop, all in a row: their effects, such as writes to
 * one socket, are then combined. The functions must not throw.
 */
function atEndOfLoopTurn(task: () => void): void {
  if (tasks.size === 0) setImmediate(run)
  tasks.add(task)
}

let tasks = new Set<() => void>()

function run(): void {
  const due = tasks
  tasks = new Set()
  for (const task of due) task()
}
