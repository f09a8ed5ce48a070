import { setTimeout as sleep } from 'node:timers/promises'
import { LineFramer } from '@chirality/core'
import type { Output } from '../../output.ts'

/** Where the server takes the calls of one program. */
export interface Door {
  url: string
  token: string
}

interface Message {
  id?: string | number
  method?: string
  params?: { requestId?: unknown }
}

/**
 * Passes each line of the input to the server, and its answer to the output. Ends with the input, when what was asked is
 * answered or no more answers come: a program that closes the input may still read.
 */
export async function relay(input: AsyncIterable<Uint8Array>, door: Door, output: Output): Promise<void> {
  const calls = new RelayedCalls(door, output)
  const framer = new LineFramer({ maxLineBytes: MAX_LINE_BYTES })
  const lost = new Promise<void>(resolve => output.onLost(resolve))
  const reading = (async () => {
    for await (const chunk of input) for (const record of framer.push(chunk)) await calls.take(record)
    for (const record of framer.end()) await calls.take(record)
    await calls.lastAnswers()
  })()
  await Promise.race([reading, lost])
  calls.giveUp()
  await calls.done()
}

/** The calls that wait for an answer. Only some are sent at once: the server has other visitors. */
class RelayedCalls {
  readonly #door: Door
  readonly #output: Output
  /** By their ids, as JSON. */
  readonly #open = new Map<string, AbortController>()
  readonly #answers = new Set<Promise<unknown>>()
  readonly #waiting: (() => void)[] = []
  #sent = 0
  #waitingBytes = 0
  #onRoom = () => {}

  constructor(door: Door, output: Output) {
    this.#door = door
    this.#output = output
  }

  /** Resolves when the next line can be taken. */
  async take(line: ReturnType<LineFramer['push']>[number]): Promise<void> {
    if (line.kind === 'oversize') {
      await this.#output.write(failed(null, INVALID_REQUEST, `The message has ${line.bytes} bytes. ${LIMIT}`))
      return
    }
    if (line.text.trim() === '') return
    const message = parse(line.text)
    if (message === undefined) {
      await this.#output.write(failed(null, PARSE_ERROR, 'This line is not a JSON-RPC message.'))
      return
    }
    // Each call is a request of its own, so a call is cancelled by closing its request.
    if (message.method === 'notifications/cancelled')
      this.#open.get(JSON.stringify(message.params?.requestId))?.abort()
    this.#send(line.text, message)
    while (this.#waitingBytes > MAX_WAITING_BYTES)
      await new Promise<void>(resolve => {
        this.#onRoom = resolve
      })
  }

  /** Resolves when all is answered, or when no answer came for a moment. */
  async lastAnswers(): Promise<void> {
    const all = this.done()
    for (let before = -1; this.#answers.size !== before; ) {
      before = this.#answers.size
      await Promise.race([all, sleep(LAST_ANSWERS_MS, undefined, { ref: false })])
    }
  }

  giveUp(): void {
    for (const gone of this.#open.values()) gone.abort()
  }

  async done(): Promise<void> {
    while (this.#answers.size > 0) await Promise.allSettled(this.#answers)
  }

  #send(text: string, message: Message): void {
    const key = JSON.stringify(message.id)
    const gone = new AbortController()
    if (message.id !== undefined) this.#open.set(key, gone)
    const tell = (line: string) => this.#output.write(line)
    const answer = this.#inTurn(text.length, () =>
      ask(this.#door, text, message, { signal: gone.signal, tell }),
    )
      .then(said => (said === undefined || gone.signal.aborted ? undefined : this.#output.write(said)))
      .finally(() => {
        // A program may use an id twice.
        if (this.#open.get(key) === gone) this.#open.delete(key)
        this.#answers.delete(answer)
      })
    this.#answers.add(answer)
  }

  async #inTurn<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    this.#waitingBytes += bytes
    if (this.#sent < MAX_SENT) this.#sent += 1
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    this.#waitingBytes -= bytes
    this.#onRoom()
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#sent -= 1
      else next()
    }
  }
}

function parse(line: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The line of the answer. Undefined for a message that has none. What the server says before the answer is told at once. */
async function ask(
  { url, token }: Door,
  line: string,
  { id }: Message,
  { signal, tell }: { signal: AbortSignal; tell: (line: string) => Promise<unknown> },
): Promise<string | undefined> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: line,
      signal,
    })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    const text = isStream ? await lastMessage(response, tell) : await response.text()
    if (id === undefined) return undefined
    const value = parse(text)
    // An answer to a malformed request has no id, and its caller would wait for ever.
    if (value !== undefined && 'jsonrpc' in value)
      return `${JSON.stringify({ ...value, id: value.id ?? id })}\n`
    const { error } = (value ?? {}) as { error?: { message?: string } }
    return failed(id, SERVER_ERROR, error?.message ?? `The server said ${response.status}.`)
  } catch {
    if (id === undefined || signal.aborted) return undefined
    return failed(id, SERVER_ERROR, 'The server of Chirality does not answer. Start it, and connect again.')
  }
}

/** The last message of a stream of server-sent events; those before it are notifications. */
async function lastMessage({ body }: Response, tell: (line: string) => Promise<unknown>): Promise<string> {
  const framer = new LineFramer({ maxLineBytes: MAX_LINE_BYTES })
  let last = ''
  const take = async (records: ReturnType<LineFramer['push']>) => {
    for (const record of records) {
      if (record.kind === 'oversize' || !record.text.startsWith('data:')) continue
      if (last !== '') await tell(`${last}\n`)
      last = record.text.slice('data:'.length).trim()
    }
  }
  for await (const chunk of body ?? []) await take(framer.push(chunk))
  await take(framer.end())
  return last
}

function failed(id: string | number | null, code: number, message: string): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`
}

const MAX_LINE_BYTES = 16 * 1024 * 1024
const LIMIT = `At most ${MAX_LINE_BYTES / 1024 / 1024} MiB are read.`
const MAX_SENT = 64
const MAX_WAITING_BYTES = 32 * 1024 * 1024
const LAST_ANSWERS_MS = 2000

const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600
const SERVER_ERROR = -32_000
