import type { ServerResponse } from 'node:http'
import { HttpError } from '../http/http-error.ts'
import { SseStream } from '../http/sse.ts'

/** The open SSE responses: limited in number, and ended when the server stops. */
export class OpenStreams {
  readonly #streams = new Set<SseStream>()
  #onGone: () => void = () => {}

  /** For a caller that is about to do something irreversible that needs a stream. */
  requireRoom(): void {
    if (this.#streams.size >= MAX_STREAMS) throw new HttpError(503, 'too-many', 'Too many open streams.')
  }

  open(response: ServerResponse): SseStream {
    this.requireRoom()
    // The `close` event has already fired, and would never end the stream.
    if (response.destroyed)
      throw Object.assign(new Error('The client closed the connection before the stream began.'), {
        code: 'ECONNRESET',
      })
    const stream = new SseStream(response)
    this.#streams.add(stream)
    response.once('close', () => {
      this.#streams.delete(stream)
      this.#onGone()
    })
    return stream
  }

  /**
   * Called when the logs are closed: streams send the remaining events and end by themselves. A client that does not
   * read is not waited for.
   */
  async close(): Promise<void> {
    const deadline = setTimeout(() => {
      for (const stream of this.#streams) stream.end()
      this.#streams.clear()
      this.#onGone()
    }, LAST_EVENTS_MS)
    while (this.#streams.size > 0) {
      await new Promise<void>(resolve => {
        this.#onGone = resolve
      })
    }
    clearTimeout(deadline)
  }
}

const MAX_STREAMS = 256
const LAST_EVENTS_MS = 1000
