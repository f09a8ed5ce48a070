import { type NdjsonRecord, unreachable } from '@chirality/core'
import { asObject } from '../common/json.ts'
import type { AgentProcess } from './agent-process.ts'
import type { AgentOutput } from './output/agent-output.ts'

export type RpcId = string | number

export interface RpcRequest {
  id: RpcId
  method: string
  params: Record<string, unknown>
}

/** The position of a message in the spool, and its line. */
export interface RpcSource {
  raw: unknown
  offset: number
  bytes: number
}

export interface RpcHandlers {
  onNotification(method: string, params: unknown, source: RpcSource): void
  onRequest(request: RpcRequest, source: RpcSource): void
  /** Receives lines that are not JSON, the lines of stderr, and damage to the raw log. */
  onNoise(text: string): void
  /** Receives the answers to requests of this side, before they are settled. */
  onAnswer?(id: RpcId, source: RpcSource): void
  /** Receives what this side sends. */
  onSent?(message: object): void
  /** Awaited before more is read: a slow reader leaves the rest in the spool. */
  ready?(): Promise<void> | undefined
}

export interface RpcOptions {
  /** Messages have the member `jsonrpc`, as the standard says. Default: they have not. */
  hasVersion?: boolean
  /** Of the other side, for errors. */
  name?: string
}

/** The other side answered with an error, or has exited. */
export class RpcError extends Error {
  readonly code: number | null

  constructor(message: string, code: number | null) {
    super(message)
    this.name = 'RpcError'
    this.code = code
  }
}

/** JSON-RPC with a process: one object for each line, requests in both directions. */
export class JsonRpcConnection {
  readonly #process: AgentProcess
  readonly #handlers: RpcHandlers
  readonly #options: RpcOptions
  readonly #pending = new Map<RpcId, { resolve(value: unknown): void; reject(error: RpcError): void }>()
  #nextId = 1
  #closed = false

  constructor(process: AgentProcess, handlers: RpcHandlers, options: RpcOptions = {}) {
    this.#process = process
    this.#handlers = handlers
    this.#options = options
  }

  /** The id that the next request will have. */
  get nextId(): number {
    return this.#nextId
  }

  request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    if (this.#closed) return Promise.reject(this.#gone())
    if (signal?.aborted) return Promise.reject(unanswered(method))
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      const abandon = () => {
        this.#pending.delete(id)
        reject(unanswered(method))
      }
      const settle =
        <T>(done: (value: T) => void) =>
        (value: T) => {
          signal?.removeEventListener('abort', abandon)
          done(value)
        }
      this.#pending.set(id, { resolve: settle(resolve), reject: settle(reject) })
      signal?.addEventListener('abort', abandon, { once: true })
      void this.#send({ id, method, params })
    })
  }

  notify(method: string, params?: unknown): void {
    void this.#send(params === undefined ? { method } : { method, params })
  }

  respond(id: RpcId, result: unknown): void {
    void this.#send({ id, result })
  }

  respondError(id: RpcId, code: number, message: string): void {
    void this.#send({ id, error: { code, message } })
  }

  /** Reads until the process has exited, and then rejects every open request. */
  async pump(): Promise<void> {
    try {
      for (let batch = await this.#process.read(); batch !== undefined; batch = await this.#process.read())
        for (const output of batch) {
          this.#hear(output)
          const waiting = this.#handlers.ready?.()
          if (waiting) await waiting
        }
    } finally {
      this.#closed = true
      for (const { reject } of this.#pending.values()) reject(this.#gone())
      this.#pending.clear()
    }
  }

  #hear(output: AgentOutput): void {
    if (output.kind === 'record') this.#read(output.record)
    else if (output.kind === 'stderr') this.#handlers.onNoise(output.line)
    else if (output.kind === 'spool-damaged')
      this.#handlers.onNoise(`the raw log ${output.path} was ${output.damage} while in use`)
  }

  #read(record: NdjsonRecord): void {
    if (record.kind === 'json') this.#dispatch(record)
    else
      this.#handlers.onNoise(
        record.kind === 'malformed' ? record.text : `a line of ${record.bytes} bytes, over the limit`,
      )
  }

  #dispatch({ value: raw, offset, bytes }: NdjsonRecord & { kind: 'json' }): void {
    const message = toRpcMessage(raw)
    const source = { raw, offset, bytes }
    switch (message.kind) {
      case 'request':
        return this.#handlers.onRequest(message.request, source)
      case 'notification':
        return this.#handlers.onNotification(message.method, message.params, source)
      case 'response':
        this.#handlers.onAnswer?.(message.id, source)
        return this.#settle(message.id, message.result, message.error)
      case 'noise':
        return this.#handlers.onNoise(JSON.stringify(raw).slice(0, MAX_NOISE_CHARS))
      default:
        unreachable(message)
    }
  }

  #settle(id: RpcId, result: unknown, error: unknown): void {
    const waiting = this.#pending.get(id)
    if (!waiting) return
    this.#pending.delete(id)
    if (error === undefined || error === null) return waiting.resolve(result)
    const { message, code } = error as { message?: unknown; code?: unknown }
    waiting.reject(new RpcError(String(message ?? 'unknown error'), typeof code === 'number' ? code : null))
  }

  async #send(message: object): Promise<void> {
    const whole = this.#options.hasVersion ? { jsonrpc: '2.0', ...message } : message
    this.#handlers.onSent?.(whole)
    const line = JSON.stringify(whole)
    await this.#process.write(`${line}\n`)
  }

  #gone(): RpcError {
    return new RpcError(`${this.#options.name ?? 'The app-server'} is gone.`, null)
  }
}

export type RpcMessage =
  | { kind: 'request'; request: RpcRequest }
  | { kind: 'notification'; method: string; params: unknown }
  | { kind: 'response'; id: RpcId; result: unknown; error: unknown }
  | { kind: 'noise' }

export function toRpcMessage(value: unknown): RpcMessage {
  const { id, method, params, result, error } = asObject(value)
  const hasId = typeof id === 'string' || typeof id === 'number'
  if (typeof method === 'string') {
    if (hasId) return { kind: 'request', request: { id, method, params: asObject(params) } }
    return { kind: 'notification', method, params }
  }
  return hasId ? { kind: 'response', id, result, error } : { kind: 'noise' }
}

const MAX_NOISE_CHARS = 500

function unanswered(method: string): RpcError {
  return new RpcError(`${method} was not answered in time.`, null)
}
