import type { Envelope, UIEvent } from '@chirality/core'
import type { Page, WebSocketRoute } from 'playwright-core'
import { sessionAnswers } from './canned/session-answers.ts'
import { settingsAnswers } from './canned/settings-answers.ts'
import { type Answers, CannedState } from './canned/state.ts'
import { workAnswers } from './canned/work-answers.ts'

export type LooseEvent = UIEvent extends infer E ? (E extends UIEvent ? Omit<E, 'sessionId'> : never) : never

interface Subscription {
  socket: WebSocketRoute
  id: number
  sessionId: string | null
}

interface RpcMessage {
  id: number
  method: string
  params: { path: string; input?: never; lastEventId?: string }
}

/**
 * Answers the page's tRPC calls from memory, over the page's own WebSocket. For what no real agent can be made to show
 * at will: hostile text, a hundred sessions, a stream at a given pace.
 */
export class CannedApi extends CannedState {
  readonly calls: { path: string; input: unknown }[] = []
  /** Calls that fail, and with which words. */
  readonly faults = new Map<string, string>()
  /** Answers that wait, by call. */
  readonly #heldCalls = new Map<string, (() => void)[]>()
  /** Those who wait for the log of a session, while it is held back. */
  #held: (() => void)[] | null = null
  readonly #subscriptions = new Set<Subscription>()
  readonly #sockets = new Set<WebSocketRoute>()
  #gate = newGate()
  readonly #answers: Answers = {
    ...sessionAnswers(this),
    ...workAnswers(this),
    ...settingsAnswers(this),
  }

  constructor() {
    super()
    this.#gate.open()
  }

  async connect(page: Page): Promise<void> {
    await page.routeWebSocket(/\/trpc/, async socket => {
      await this.#gate.promise
      this.#sockets.add(socket)
      socket.onMessage(text => {
        const parsed: RpcMessage | RpcMessage[] = JSON.parse(String(text))
        for (const message of Array.isArray(parsed) ? parsed : [parsed]) this.#answer(socket, message)
      })
      socket.onClose(() => this.#forget(socket))
    })
  }

  /** Appends events to a session's log and tells whoever follows it. */
  push(sessionId: string, events: readonly LooseEvent[], turnId = 't1'): void {
    const log = this.logs.get(sessionId) ?? []
    const added = events.map((event, i): Envelope => {
      const seq = log.length + i + 1
      const at = new Date(Date.UTC(2026, 0, 1, 12) + seq * 400).toISOString()
      return { seq, at, sessionId, turnId, event: { ...event, sessionId } as UIEvent }
    })
    this.logs.set(sessionId, [...log, ...added])
    for (const subscription of this.#subscriptions) {
      if (subscription.sessionId === sessionId) this.#sendEvents(subscription, added)
    }
  }

  /** Ends every connection and lets none through until `restore`. */
  async cutConnections(code?: number): Promise<void> {
    this.#gate = newGate()
    for (const socket of [...this.#sockets]) {
      this.#forget(socket)
      await socket.close(code === undefined ? {} : { code })
    }
  }

  restore(): void {
    this.#gate.open()
  }

  /** Sessions can be followed, but their logs do not come before `releaseLogs`. */
  holdLogs(): void {
    this.#held = []
  }

  releaseLogs(): void {
    for (const send of this.#held ?? []) send()
    this.#held = null
  }

  /** Calls of this path are heard, but not answered before the function that is returned is called. */
  hold(path: string): () => void {
    const waiting: (() => void)[] = []
    this.#heldCalls.set(path, waiting)
    return () => {
      this.#heldCalls.delete(path)
      for (const answer of waiting) answer()
    }
  }

  called(path: string): unknown[] {
    return this.calls.filter(call => call.path === path).map(({ input }) => input)
  }

  #forget(socket: WebSocketRoute): void {
    this.#sockets.delete(socket)
    for (const subscription of this.#subscriptions) {
      if (subscription.socket === socket) this.#subscriptions.delete(subscription)
    }
  }

  #answer(socket: WebSocketRoute, { id, method, params }: RpcMessage): void {
    if (method === 'subscription') return this.#subscribe(socket, id, params)
    if (method === 'subscription.stop') {
      for (const known of this.#subscriptions)
        if (known.socket === socket && known.id === id) this.#subscriptions.delete(known)
      return send(socket, id, { type: 'stopped' })
    }
    if (method !== 'query' && method !== 'mutation') return
    this.calls.push({ path: params.path, input: params.input })
    const answer = () => this.#reply(socket, id, params)
    const held = this.#heldCalls.get(params.path)
    if (held) held.push(answer)
    else answer()
  }

  #reply(socket: WebSocketRoute, id: number, params: RpcMessage['params']): void {
    try {
      const fault = this.faults.get(params.path)
      if (fault !== undefined) throw new Error(fault)
      const answer = this.#answers[params.path]
      send(socket, id, { type: 'data', data: answer ? answer(params.input ?? ({} as never)) : null })
    } catch (error) {
      const data = { code: 'SERVICE_UNAVAILABLE', httpStatus: 503, path: params.path }
      const { message } = error as Error
      socket.send(JSON.stringify({ id, error: { code: -32_603, message, data } }))
    }
  }

  #subscribe(
    socket: WebSocketRoute,
    id: number,
    { path, input, lastEventId: seen }: RpcMessage['params'],
  ): void {
    send(socket, id, { type: 'started' })
    if (path === 'fleet.events') {
      this.#subscriptions.add({ socket, id, sessionId: null })
      send(socket, id, {
        type: 'data',
        data: { type: 'snapshot', sessions: [...this.statuses.values()] },
      })
      send(socket, id, { type: 'data', data: { type: 'loops', loops: this.loops } })
      return
    }
    const { sessionId, lastEventId } = input as unknown as { sessionId: string; lastEventId: string | null }
    const subscription = { socket, id, sessionId }
    this.#subscriptions.add(subscription)
    const log = this.logs.get(sessionId) ?? []
    const after = log.filter(({ seq }) => seq > Number(seen ?? lastEventId ?? 0))
    const catchUp = () => this.#sendEvents(subscription, after)
    if (this.#held) this.#held.push(catchUp)
    else catchUp()
  }

  #sendEvents({ socket, id }: Subscription, envelopes: readonly Envelope[]): void {
    for (let i = 0; i < envelopes.length; i += BATCH) {
      const batch = envelopes.slice(i, i + BATCH)
      send(socket, id, {
        type: 'data',
        id: String(batch.at(-1)?.seq),
        data: { id: String(batch.at(-1)?.seq), data: batch },
      })
    }
  }

  protected tell(data: unknown): void {
    for (const { socket, id, sessionId } of this.#subscriptions)
      if (sessionId === null) send(socket, id, { type: 'data', data })
  }
}

const BATCH = 512

function send(socket: WebSocketRoute, id: number, result: unknown): void {
  socket.send(JSON.stringify({ id, result }))
}

interface Gate {
  promise: Promise<void>
  open(): void
}

function newGate(): Gate {
  let open = () => {}
  const promise = new Promise<void>(resolve => {
    open = resolve
  })
  return { promise, open }
}
