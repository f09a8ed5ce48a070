import { plain } from './render/style.ts'

/** stdout, for as long as its reader reads. */
export class Output {
  readonly #stream: NodeJS.WriteStream
  readonly #onLost = new Set<() => void>()
  #failure: NodeJS.ErrnoException | null = null
  #hurries = false
  #stopWaiting: (() => void) | null = null
  #draining: Promise<void> | null = null

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    // Without a listener, `chirality run … | head -1` would end with a stack trace, and leave the agent running.
    stream.on('error', (error: NodeJS.ErrnoException) => this.#lose(error))
  }

  get isTerminal(): boolean {
    return this.#stream.isTTY === true
  }

  /** The write error, unless the reader just closed the pipe, which is no error. */
  get failure(): NodeJS.ErrnoException | null {
    return this.#failure?.code === 'EPIPE' ? null : this.#failure
  }

  /** The output is no longer read, for whatever reason. */
  get lost(): boolean {
    return this.#failure !== null
  }

  /** False if the output is no longer read. Waits for a slow reader, so that memory does not fill. */
  async write(text: string): Promise<boolean> {
    if (text === '' || this.#failure) return this.#failure === null
    try {
      if (!this.#stream.write(text) && !this.#hurries) await this.#drained()
    } catch (error) {
      this.#lose(error as NodeJS.ErrnoException)
    }
    return this.#failure === null
  }

  /** Calls back once, when written output is lost. */
  onLost(callback: () => void): () => void {
    this.#onLost.add(callback)
    return () => this.#onLost.delete(callback)
  }

  /** The process is to end: a reader that has stopped reading must not delay it. */
  hurry(): void {
    this.#hurries = true
    this.#stopWaiting?.()
  }

  /** Resolves when all output was read, or when the process is to end and the reader does not read. */
  flushed(): Promise<void> {
    if (this.#failure) return Promise.resolve()
    return new Promise(resolve => {
      const timer = this.#hurries ? setTimeout(resolve, LAST_WORDS_MS) : undefined
      // Callbacks run in order: once this is written, or has failed, so has everything before it.
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

  /** One wait for all who write meanwhile: a thousand answers at once must not be a thousand listeners. */
  #drained(): Promise<void> {
    this.#draining ??= new Promise(resolve => {
      const done = () => {
        this.#stream.off('drain', done).off('close', done).off('error', done)
        this.#stopWaiting = null
        this.#draining = null
        resolve()
      }
      this.#stopWaiting = done
      this.#stream.once('drain', done).once('close', done).once('error', done)
    })
    return this.#draining
  }
}

/** Long enough for any reader that reads at all. */
const LAST_WORDS_MS = 2_000

/** Messages for people, on stderr. Resolves when written, or when that failed. */
export function tell(text: string): Promise<void> {
  return new Promise(resolve => {
    process.stderr.once('error', () => resolve())
    process.stderr.write(plain(text), () => resolve())
  })
}
