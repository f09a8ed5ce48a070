/**
 * Answers to calls, remembered for a while: a call that is delivered twice is done once, and a hub that waited too long
 * can ask for the outcome. Running calls are never forgotten; finished ones are after a time, or when all of them are
 * too large.
 */
export class RememberedAnswers {
  readonly #running = new Map<string, Promise<Buffer>>()
  readonly #over = new Map<string, { answer: Promise<Buffer>; size: number }>()
  readonly #limits: RememberedLimits
  #bytes = 0

  constructor(limits: Partial<RememberedLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits }
  }

  get(id: string): Promise<Buffer> | undefined {
    return this.#running.get(id) ?? this.#over.get(id)?.answer
  }

  once(id: string, work: () => Promise<Buffer>): Promise<Buffer> {
    const known = this.get(id)
    if (known !== undefined) return known
    const answer = work()
    this.#running.set(id, answer)
    answer.then(
      ({ length }) => this.#end(id, answer, length),
      () => this.#running.delete(id),
    )
    return answer
  }

  #end(id: string, answer: Promise<Buffer>, size: number): void {
    this.#running.delete(id)
    this.#over.set(id, { answer, size })
    this.#bytes += size
    setTimeout(() => this.#forget(id), this.#limits.ms).unref()
    for (const [oldest] of this.#over) {
      if (this.#over.size <= this.#limits.count && this.#bytes <= this.#limits.bytes) break
      // The newest answer is the most likely to be asked for.
      if (oldest !== id) this.#forget(oldest)
    }
  }

  #forget(id: string): void {
    this.#bytes -= this.#over.get(id)?.size ?? 0
    this.#over.delete(id)
  }
}

export interface RememberedLimits {
  count: number
  bytes: number
  ms: number
}

const LIMITS: RememberedLimits = { count: 1_000, bytes: 32 * 1024 * 1024, ms: 10 * 60_000 }
