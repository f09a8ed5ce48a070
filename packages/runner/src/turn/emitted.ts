type Emit<T> = (value: T) => Promise<void>

/**
 * The values that a function emits, as an async iterator. The function starts when the first value is requested, and
 * waits in `emit` until the next one is. When the reader returns early, `emit` rejects with `LEFT`, so that only
 * `finally` blocks run. It replaces nested async generators, each of which would cost one more promise for each value.
 */
export function emitted<T>(produce: (emit: Emit<T>) => Promise<void>): AsyncGenerator<T, void> {
  return new Emitted(produce)
}

/** Not an error: a `catch` that receives it has to rethrow it. */
export const LEFT = Symbol('the reader left')

class Emitted<T> implements AsyncGenerator<T, void> {
  readonly #produce: (emit: Emit<T>) => Promise<void>
  #state: 'new' | 'begun' | 'over' = 'new'
  #reader: PromiseWithResolver<IteratorResult<T, void>> | undefined
  #resume: Resume | undefined
  #isLeft = false
  #ended: Promise<void> = Promise.resolve()

  constructor(produce: (emit: Emit<T>) => Promise<void>) {
    this.#produce = produce
  }

  next(): Promise<IteratorResult<T, void>> {
    return this.#step(({ go }) => go())
  }

  /** Rejects the pending `emit` with the error. */
  throw(error: unknown): Promise<IteratorResult<T, void>> {
    return this.#step(({ fail }) => fail(error))
  }

  /** Resolves when the function has ended; a function that has not started is never started. */
  async return(): Promise<IteratorResult<T, void>> {
    this.#isLeft = true
    if (this.#state === 'new') this.#state = 'over'
    this.#resume?.fail(LEFT)
    await this.#ended
    return OVER
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #step(resume: (waiting: Resume) => void): Promise<IteratorResult<T, void>> {
    if (this.#state === 'over') return Promise.resolve(OVER)
    if (this.#reader) return Promise.reject(new Error('A value is being waited for already.'))
    const reader = withResolver<IteratorResult<T, void>>()
    this.#reader = reader
    if (this.#state === 'new') this.#begin()
    else if (this.#resume) resume(this.#resume)
    return reader.promise
  }

  #begin(): void {
    this.#state = 'begun'
    this.#ended = this.#run()
    // `next()` and `return()` report the failure; without this handler it would also be an unhandled rejection.
    this.#ended.catch(() => {})
  }

  async #run(): Promise<void> {
    try {
      await this.#produce(value => this.#emit(value))
      this.#end(reader => reader.resolve(OVER))
    } catch (error) {
      if (error === LEFT) this.#end(reader => reader.resolve(OVER))
      else if (!this.#end(reader => reader.reject(error))) throw error
    }
  }

  #emit(value: T): Promise<void> {
    if (this.#isLeft && !this.#reader) return Promise.reject(LEFT)
    const { promise, resolve, reject } = withResolver<void>()
    const go = () => {
      this.#resume = undefined
      resolve()
    }
    const fail = (reason: unknown) => {
      this.#resume = undefined
      reject(reason)
    }
    this.#resume = { go, fail }
    this.#answer(reader => reader.resolve({ done: false, value }))
    if (this.#isLeft) fail(LEFT)
    return promise
  }

  #end(tell: (reader: PromiseWithResolver<IteratorResult<T, void>>) => void): boolean {
    this.#state = 'over'
    return this.#answer(tell)
  }

  #answer(tell: (reader: PromiseWithResolver<IteratorResult<T, void>>) => void): boolean {
    const reader = this.#reader
    this.#reader = undefined
    if (reader) tell(reader)
    return reader !== undefined
  }
}

const OVER = { done: true, value: undefined } as const

/** Settles the promise that a function waits for in `emit`. */
interface Resume {
  go: () => void
  fail: (reason: unknown) => void
}

interface PromiseWithResolver<T> {
  promise: Promise<T>
  resolve: (value: T) => void
  reject: (reason: unknown) => void
}

function withResolver<T>(): PromiseWithResolver<T> {
  let resolve: (value: T) => void = () => {}
  let reject: (reason: unknown) => void = () => {}
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
