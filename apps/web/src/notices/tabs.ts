/**
 * What the tabs of one browser know of each other, by locks: the browser itself lets go of those of a tab that is closed or has
 * crashed.
 */
const SPEAKER = 'chirality-notify'
const LOOKS_AT = 'chirality-looks-at/'

/** One tab at a time speaks for all. */
export class Speaker {
  #speaks = false
  readonly #stop = new AbortController()
  #letGo = () => {}

  constructor() {
    hold({ name: SPEAKER, mode: 'exclusive', signal: this.#stop.signal }, letGo => {
      this.#speaks = true
      this.#letGo = letGo
    })
  }

  get speaks(): boolean {
    return this.#speaks
  }

  stop(): void {
    this.#speaks = false
    this.#stop.abort()
    this.#letGo()
  }
}

/** Says which session this tab is looking at, if any. */
export class Gaze {
  #sessionId: string | undefined
  #letGo = () => {}

  set(sessionId: string | undefined): void {
    if (sessionId === this.#sessionId) return
    this.#sessionId = sessionId
    this.#letGo()
    this.#letGo = () => {}
    if (sessionId === undefined) return
    const stop = new AbortController()
    this.#letGo = () => stop.abort()
    hold({ name: LOOKS_AT + sessionId, mode: 'shared', signal: stop.signal }, letGo => {
      this.#letGo = letGo
    })
  }
}

/** Whether any tab is looking at the session. */
export async function isLookedAt(sessionId: string): Promise<boolean> {
  const { held = [] } = await navigator.locks.query()
  return held.some(({ name }) => name === LOOKS_AT + sessionId)
}

function hold(
  { name, ...options }: LockOptions & { name: string },
  onHeld: (letGo: () => void) => void,
): void {
  navigator.locks
    .request(name, options, () => (options.signal?.aborted ? undefined : new Promise<void>(onHeld)))
    // Only that it was given up before it was got.
    .catch(() => undefined)
}
