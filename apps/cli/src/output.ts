import { plain } from './render/style.ts'

/** stdout, for as long as someone takes what is written to it. */
export class Output {
  readonly #stream: NodeJS.WriteStream
  readonly #onLost = new Set<() => void>()
  #failure: NodeJS.ErrnoException | null = null
  #hurries = false
  #stopWaiting: (() => void) | null = null

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    // Without a listener, `chirality run … | head -1` would end in a stack trace, and leave the agent running.
    stream.on('error', (error: NodeJS.ErrnoException) => this.#lose(error))
  }

  get isTerminal(): boolean {
    return this.#stream.isTTY === true
  }

  /** What went wrong, unless the reader just left: that is its right. */
  get failure(): NodeJS.ErrnoException | null {
    return this.#failure?.code === 'EPIPE' ? null : this.#failure
  }

  /** Nobody takes it any more, for whatever reason. */
  get lost(): boolean {
    return this.#failure !== null
  }

  /** False when nobody takes it any more. Waits for a slow reader instead of filling memory. */
  async write(text: string): Promise<boolean> {
    if (text === '' || this.#failure) return this.#failure === null
    try {
      if (!this.#stream.write(text) && !this.#hurries) await this.#drained()
    } catch (error) {
      this.#lose(error as NodeJS.ErrnoException)
    }
    return this.#failure === null
  }

  /** Calls back once, when what is written is lost. */
  onLost(callback: () => void): () => void {
    this.#onLost.add(callback)
    return () => this.#onLost.delete(callback)
  }

  /** We are told to end: a reader that has stopped reading must not keep us. */
  hurry(): void {
    this.#hurries = true
    this.#stopWaiting?.()
  }

  /** Resolves when all that was written is taken, or when we are told to end and the reader does not take it. */
  flushed(): Promise<void> {
    if (this.#failure) return Promise.resolve()
    return new Promise(resolve => {
      const timer = this.#hurries ? setTimeout(resolve, LAST_WORDS_MS) : undefined
      // Called in order: once this is written, or has failed, so has everything before it.
      this.#stream.write('', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #lose(error: NodeJS.ErrnoException): void {
    if (this.#failure) return
    this.#failure = error
    for (const callback of this.#onLost) callback()
  }

  #drained(): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        this.#stream.off('drain', done).off('close', done).off('error', done)
        this.#stopWaiting = null
        resolve()
      }
      this.#stopWaiting = done
      this.#stream.once('drain', done).once('close', done).once('error', done)
    })
  }
}

/** Long enough for any reader that reads at all. */
const LAST_WORDS_MS = 2_000

/** For people, on stderr. Resolves when it is written, or cannot be. */
export function tell(text: string): Promise<void> {
  return new Promise(resolve => {
    process.stderr.once('error', () => resolve())
    process.stderr.write(plain(text), () => resolve())
  })
}
