import type { ServerResponse } from 'node:http'
import { HttpError } from '../http/http-error.ts'
import { SseStream } from '../http/sse.ts'

/** The SSE responses that are open: few enough, and ended when the server stops. */
export class OpenStreams {
  readonly #streams = new Set<SseStream>()

  open(response: ServerResponse): SseStream {
    if (this.#streams.size >= MAX_STREAMS) throw new HttpError(503, 'too-many', 'Too many open streams.')
    const stream = new SseStream(response)
    this.#streams.add(stream)
    response.once('close', () => this.#streams.delete(stream))
    return stream
  }

  close(): void {
    for (const stream of this.#streams) stream.end()
  }
}

const MAX_STREAMS = 256
