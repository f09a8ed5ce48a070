import type { Envelope } from '@chirality/core'
import { WebSocket } from 'ws'
import type { RunningServer } from '../../src/index.ts'

/** Reads the events of a session over a socket of its own, as tRPC's client does but with the socket in hand. */
export class EventReader {
  readonly socket: WebSocket
  readonly #onBatch: (batch: Envelope[], reader: EventReader) => void
  #closed: Promise<number>

  constructor(
    server: Pick<RunningServer, 'url' | 'token'>,
    input: { sessionId: string; lastEventId?: string },
    onBatch: (batch: Envelope[], reader: EventReader) => void,
  ) {
    this.#onBatch = onBatch
    this.socket = new WebSocket(`${server.url.replace('http', 'ws')}/trpc`, {
      headers: { authorization: `Bearer ${server.token}` },
      perMessageDeflate: false,
    })
    const params = { path: 'session.events', input }
    this.socket.on('open', () => this.socket.send(JSON.stringify({ id: 1, method: 'subscription', params })))
    this.socket.on('message', data => this.#receive(String(data)))
    this.socket.on('error', () => {})
    this.#closed = new Promise(resolve => this.socket.on('close', resolve))
  }

  /** Resolves to the close code. */
  closed(): Promise<number> {
    return this.#closed
  }

  #receive(text: string): void {
    if (text === 'PING') return this.socket.send('PONG')
    const { result, error } = JSON.parse(text) as {
      result?: { type: string; data?: { data: Envelope[] } }
      error?: unknown
    }
    if (error !== undefined) throw new Error(text)
    if (result?.type === 'data' && result.data !== undefined) this.#onBatch(result.data.data, this)
  }
}
