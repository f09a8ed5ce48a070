import type { ServerResponse } from 'node:http'
import type { Outlet } from '../socket/send-pace.ts'
import { SendPace } from '../socket/send-pace.ts'

export interface ServerSentEvent {
  id?: number
  /** Left out, it is a plain `message` to an EventSource. */
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
      clearInterval(this.#heartbeat)
      this.pace.close()
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
    if (events.length > 0 && !this.signal.aborted) this.#response.write(events.map(format).join(''))
  }

  end(): void {
    this.#response.end()
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

/** JSON holds no line break, so one `data` line is enough. */
function format({ id, event, data }: ServerSentEvent): string {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`
  return `${head}data: ${JSON.stringify(data)}\n\n`
}
