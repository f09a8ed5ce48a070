import { NdjsonFramer } from '@chirality/core'
import type { Output } from '../../output.ts'

export type JsonObject = Record<string, unknown>
type RpcId = string | number | null

/** The other side is told this, with a code of JSON-RPC or of the Agent Client Protocol. */
export class EditorError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.name = 'EditorError'
    this.code = code
  }
}

export const RPC = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  authRequired: -32_000,
  notFound: -32_002,
} as const

export interface EditorHandlers {
  /** Its result is the answer. An `EditorError` is passed on, any other error goes through `explain`. */
  onRequest(method: string, params: JsonObject): Promise<unknown>
  onNotification(method: string, params: JsonObject): void
  /** For an error that is no `EditorError`. */
  explain(error: unknown): EditorError
}

/** JSON-RPC with an editor: one object a line on stdin and stdout, requests in both directions. */
export class EditorConnection {
  readonly #output: Output
  readonly #handlers: EditorHandlers
  readonly #asked = new Map<RpcId, { resolve(value: unknown): void; reject(error: Error): void }>()
  #nextId = 1
  /** The beginning of the line that is being read: it names the request that a line over the limit was. */
  #head = ''

  constructor(output: Output, handlers: EditorHandlers) {
    this.#output = output
    this.#handlers = handlers
  }

  /** Reads until the input ends. What the editor was asked is given up then. */
  async read(input: AsyncIterable<Uint8Array>): Promise<void> {
    const framer = new NdjsonFramer({ maxLineBytes: MAX_LINE_BYTES })
    try {
      for await (const chunk of input) {
        const head = this.#head
        this.#remember(chunk)
        for (const record of framer.push(chunk)) {
          if (record.kind === 'json') this.#take(record.value)
          else if (record.kind === 'oversize')
            void this.#fail(idIn(head), RPC.invalidRequest, `The message has ${record.bytes} bytes. ${LIMIT}`)
          else void this.#fail(null, RPC.parseError, 'This line is not a JSON-RPC message.')
        }
      }
    } finally {
      for (const { reject } of this.#asked.values()) reject(new Error('The editor is gone.'))
      this.#asked.clear()
    }
  }

  /** Resolves when the editor has room for more. */
  notify(method: string, params: object): Promise<boolean> {
    return this.#send({ method, params })
  }

  /** Rejects with the error of the editor; when the signal fires, the editor is told that nobody waits any more. */
  request(method: string, params: object, signal: AbortSignal): Promise<unknown> {
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      const give = () => {
        if (!this.#asked.delete(id)) return
        void this.notify('$/cancel_request', { requestId: id })
        reject(new Error('Taken back.'))
      }
      if (signal.aborted) return reject(new Error('Taken back.'))
      const settled =
        <T>(done: (value: T) => void) =>
        (value: T) => {
          signal.removeEventListener('abort', give)
          done(value)
        }
      this.#asked.set(id, { resolve: settled(resolve), reject: settled(reject) })
      signal.addEventListener('abort', give, { once: true })
      void this.#send({ id, method, params })
    })
  }

  #take(value: unknown): void {
    const { id, method, params, result, error } = asObject(value)
    if (typeof method === 'string' && id === undefined)
      return this.#handlers.onNotification(method, asObject(params))
    if (typeof method === 'string' && isId(id)) return void this.#answer(id, method, asObject(params))
    const asked = isId(id) ? this.#asked.get(id) : undefined
    if (asked === undefined || (result === undefined && error === undefined)) {
      // An answer that came after it was taken back is no fault of the editor.
      if (result === undefined && error === undefined)
        void this.#fail(isId(id) ? id : null, RPC.invalidRequest, 'This is no request, and no answer.')
      return
    }
    this.#asked.delete(id as RpcId)
    if (error === undefined) asked.resolve(result)
    else asked.reject(new Error(String(asObject(error).message ?? 'The editor answered with an error.')))
  }

  async #answer(id: RpcId, method: string, params: JsonObject): Promise<void> {
    try {
      const result = await this.#handlers.onRequest(method, params)
      await this.#send({ id, result: result ?? {} })
    } catch (error) {
      const { code, message } = error instanceof EditorError ? error : this.#handlers.explain(error)
      await this.#fail(id, code, message)
    }
  }

  #fail(id: RpcId, code: number, message: string): Promise<boolean> {
    return this.#send({ id, error: { code, message } })
  }

  #send(message: object): Promise<boolean> {
    return this.#output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  #remember(chunk: Uint8Array): void {
    const line = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const start = line.lastIndexOf(0x0a) + 1
    if (start > 0) this.#head = ''
    if (this.#head.length < HEAD_CHARS)
      this.#head += line.subarray(start, start + HEAD_CHARS).toString('latin1')
  }
}

const MAX_LINE_BYTES = 32 * 1024 * 1024
const LIMIT = `At most ${MAX_LINE_BYTES / 1024 / 1024} MiB are read; name a large file instead of sending it.`
const HEAD_CHARS = 256

/** The id of a request whose line was too long to be kept; writers put it before the parameters. */
function idIn(head: string): RpcId {
  const [, id] = /^\s*\{[^{[]*?"id"\s*:\s*(\d+|"[^"\\]*")/.exec(head) ?? []
  return id === undefined ? null : (JSON.parse(id) as RpcId)
}

function isId(value: unknown): value is RpcId {
  return typeof value === 'string' || typeof value === 'number' || value === null
}

export function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}
