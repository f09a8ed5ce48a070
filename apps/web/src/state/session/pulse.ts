import { useEffect, useEffectEvent, useRef } from 'react'

export interface PulseOptions {
  read(): Promise<unknown>
  /** While this is so, it is read now and then also when nobody woke it. */
  isRunning?(): boolean
  /** False while nobody sees the result: it is read when `see` is called. */
  isSeen?(): boolean
  /** Whether the first read is its own, or somebody else's. */
  atOnce?: boolean
}

/** Many events at once are one read. */
export const AFTER_EVENT_MS = 150
/** An agent may print what becomes no event. */
export const WHILE_RUNNING_MS = 1000

/** Reads again after something happened: soon, but not for each event, and never twice at a time. The last one is always read. */
export class Pulse {
  readonly #options: PulseOptions
  #timer: ReturnType<typeof setTimeout> | undefined
  #dueMs = 0
  #state: 'waiting' | 'reading' | 'stale' | 'unseen' | 'stopped' = 'waiting'

  constructor(options: PulseOptions) {
    this.#options = options
    if (options.atOnce ?? true) this.#schedule(0)
  }

  /** Something happened. */
  wake(): void {
    if (this.#state === 'reading') this.#state = 'stale'
    if (this.#state === 'waiting') this.#schedule(AFTER_EVENT_MS)
  }

  /** It may be seen again: what was put off is read now. */
  see(): void {
    if (this.#state !== 'unseen') return
    this.#state = 'waiting'
    this.#schedule(0)
  }

  stop(): void {
    this.#state = 'stopped'
    clearTimeout(this.#timer)
  }

  /** Keeps an earlier time: a stream of events must not put it off for ever. */
  #schedule(ms: number): void {
    if (this.#timer !== undefined && this.#dueMs <= ms) return
    clearTimeout(this.#timer)
    this.#dueMs = ms
    this.#timer = setTimeout(() => void this.#read(), ms)
  }

  async #read(): Promise<void> {
    this.#timer = undefined
    const { read, isRunning, isSeen } = this.#options
    if (isSeen?.() === false) {
      this.#state = 'unseen'
      return
    }
    this.#state = 'reading'
    // Who reads tells of what went wrong.
    await read().catch(() => undefined)
    const state = this.#state as string
    if (state === 'stopped') return
    this.#state = 'waiting'
    if (state === 'stale') this.#schedule(AFTER_EVENT_MS)
    else if (isRunning?.()) this.#schedule(WHILE_RUNNING_MS)
  }
}

/** A pulse that rests while the page is hidden. */
export function startPulse(options: PulseOptions): { pulse: Pulse; stop(): void } {
  const pulse = new Pulse({ isSeen: () => !document.hidden, ...options })
  const onVisible = () => pulse.see()
  document.addEventListener('visibilitychange', onVisible)
  return {
    pulse,
    stop: () => {
      document.removeEventListener('visibilitychange', onVisible)
      pulse.stop()
    },
  }
}

/** Reads again when `change` is another one. What is there at first was read already. */
export function usePulse(change: unknown, read: () => Promise<unknown>): void {
  const onRead = useEffectEvent(read)
  const current = useRef<Pulse | null>(null)
  const seen = useRef(change)
  useEffect(() => {
    const { pulse, stop } = startPulse({ read: () => onRead(), atOnce: false })
    current.current = pulse
    return stop
  }, [])
  useEffect(() => {
    if (seen.current === change) return
    seen.current = change
    current.current?.wake()
  }, [change])
}
