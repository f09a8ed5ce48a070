import type { IncomingHttpHeaders } from 'node:http'

export interface RecordedRequest {
  method: string
  /** Without the query. */
  path: string
  query: string
  headers: IncomingHttpHeaders
  /** Parsed JSON; `undefined` when there was none. */
  body: unknown
  /**
   * The answer's place in the script, `answers[2]`; `exhausted` when there was none left; `side:title`
   * for a side request that no route answers; empty for endpoints that need no script.
   */
  served: string
  /** `left`: the client went away before the answer was complete. */
  state: 'answering' | 'stalled' | 'done' | 'cut' | 'left'
  /** Milliseconds since the epoch. */
  at: number
}

export type WantedRequest = number | ((request: RecordedRequest) => boolean)

/** Keeps every request, and tells those who wait when one arrives or changes its state. */
export class RequestLog {
  readonly requests: RecordedRequest[] = []
  readonly #waiting = new Set<() => void>()
  #closed = false

  add(request: RecordedRequest): void {
    this.requests.push(request)
    this.#notify()
  }

  setState(request: RecordedRequest, state: RecordedRequest['state']): void {
    request.state = state
    this.#notify()
  }

  waitFor(wanted: WantedRequest): Promise<RecordedRequest> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = this.#find(wanted)
        if (found) resolve(found)
        else if (this.#closed)
          reject(new Error('The scripted model was closed before the awaited request came.'))
        else return
        this.#waiting.delete(look)
      }
      this.#waiting.add(look)
      look()
    })
  }

  close(): void {
    this.#closed = true
    this.#notify()
  }

  #find(wanted: WantedRequest): RecordedRequest | undefined {
    if (typeof wanted === 'function') return this.requests.find(wanted)
    return this.requests.filter(({ served }) => served !== '' && !served.startsWith('side:'))[wanted - 1]
  }

  #notify(): void {
    for (const look of [...this.#waiting]) look()
  }
}
