import type { IncomingMessage, ServerResponse } from 'node:http'
import { HttpError } from './http-error.ts'
import { type Outlet, SendPace } from './send-pace.ts'

export interface ServerSentEvent {
  id?: number
  /** Without a name it is a plain `message` for an EventSource. */
  event?: string
  data: unknown
}

/** A response that stays open and sends events. */
export class SseStream {
  readonly pace: SendPace
  readonly signal: AbortSignal
  readonly #response: ServerResponse
  readonly #heartbeat: NodeJS.Timeout

  constructor(response: ServerResponse) {
    const gone = new AbortController()
    this.#response = response
    this.signal = gone.signal
    this.pace = new SendPace(responseOutlet(response))
    response.once('close', () => {
      this.#stop()
      gone.abort()
    })
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    response.flushHeaders()
    this.#heartbeat = setInterval(() => response.write(': heartbeat\n\n'), HEARTBEAT_MS)
    this.#heartbeat.unref()
  }

  send(events: ServerSentEvent[]): void {
    // After its end a response stays open until a slow client has read it, and accepts no more.
    if (events.length > 0 && this.#isOpen()) this.#response.write(events.map(format).join(''))
  }

  end(): void {
    this.#stop()
    this.#response.end()
  }

  #isOpen(): boolean {
    return !this.signal.aborted && !this.#response.writableEnded
  }

  #stop(): void {
    clearInterval(this.#heartbeat)
    this.pace.close()
  }
}

export const HEARTBEAT_MS = 30_000

export function responseOutlet(response: ServerResponse): Outlet {
  return {
    buffered: () => response.writableLength,
    onDrain: listener => response.on('drain', listener),
    giveUp: () => response.destroy(),
  }
}

/** JSON contains no line break, so one `data` line is enough. */
function format({ id, event, data }: ServerSentEvent): string {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`
  return `${head}data: ${JSON.stringify(data)}\n\n`
}

/** The cursor of a client: the header that its EventSource sends, or `?after=`. Undefined without either. */
export function cursorOf(request: IncomingMessage, url: URL): number | undefined {
  const given = request.headers['last-event-id'] ?? url.searchParams.get('after') ?? undefined
  if (given === undefined) return undefined
  if (typeof given === 'string' && /^\d{1,15}$/.test(given)) return Number(given)
  throw new HttpError(400, 'invalid-input', 'Last-Event-ID must be the number of an event.')
}
