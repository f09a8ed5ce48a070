import type { Envelope, UIEvent } from '@chirality/core'
import { StorageError } from '@chirality/disk'
import type { SessionLog } from '../../log/session-log.ts'

export interface RecorderOptions {
  log: SessionLog
  /** Called with each batch once the log has accepted it. */
  onRecorded: (envelopes: Envelope[]) => void
}

/** Writes the events of a session to its log, and waits while the log cannot accept them: no event is dropped. */
export class SessionRecorder {
  readonly #log: SessionLog
  readonly #onRecorded: RecorderOptions['onRecorded']
  readonly #waiting = new Set<() => void>()
  #gaveUp = false

  constructor({ log, onRecorded }: RecorderOptions) {
    this.#log = log
    this.#onRecorded = onRecorded
  }

  /**
   * Returns a promise only if the log cannot accept them now: awaiting each call would be slow at a hundred events a
   * second.
   */
  record(events: readonly UIEvent[], turnId: string | null): Promise<void> | undefined {
    if (events.length === 0) return undefined
    let envelopes: Envelope[]
    try {
      envelopes = this.#log.appendAll(events, { turnId })
    } catch (error) {
      if (!this.#isPaused(error) || this.#gaveUp) throw error
      return this.#writable().then(() => this.record(events, turnId))
    }
    this.#onRecorded(envelopes)
    return undefined
  }

  /** Resolves to true when the recorded events are on the disk, to false if the log is paused and keeps them. */
  async flush(): Promise<boolean> {
    try {
      await this.#log.flush()
      return true
    } catch (error) {
      if (!this.#isPaused(error)) throw error
      return false
    }
  }

  /** Like `flush`, but waits while the log is paused. False if that was given up, or the log was closed meanwhile. */
  async flushed(): Promise<boolean> {
    while (!(await this.flush())) {
      if (this.#gaveUp || !this.#log.isOpen) return false
      await this.#writable()
    }
    return true
  }

  /** Stops waiting for a log that cannot be written: the next host finds the remaining events in the raw log. */
  giveUp(): void {
    this.#gaveUp = true
    for (const wake of this.#waiting) wake()
  }

  #writable(): Promise<void> {
    return new Promise(resolve => {
      const wake = () => {
        this.#waiting.delete(wake)
        resolve()
      }
      this.#waiting.add(wake)
      void this.#log.whenWritable().then(wake)
    })
  }

  /** A closed log never accepts an event, also if it was closed while it was paused. */
  #isPaused(error: unknown): boolean {
    return error instanceof StorageError && error.code !== 'closed' && this.#log.health.state === 'paused'
  }
}
