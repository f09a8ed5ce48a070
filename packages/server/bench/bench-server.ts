import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'
import type { Command, Reply } from './protocol.ts'

export type Variant = 'ours' | 'raw' | 'naive'

/** What the dashboard asks for first, see `session-hub.ts`. */
const TAIL_EVENTS = 400
const TAIL_BYTES = 250_000

interface StampedEnvelope {
  event: { data?: { at?: number } }
}

/** One server of the benchmark and the clients of it. */
export class BenchServer {
  readonly #child: ChildProcess
  readonly #folder: string
  readonly #variant: Variant
  readonly #start: Reply
  #clients: WebSocket[] = []
  latencies: number[] = []

  private constructor(child: ChildProcess, about: { folder: string; variant: Variant; start: Reply }) {
    this.#child = child
    this.#folder = about.folder
    this.#variant = about.variant
    this.#start = about.start
  }

  static async open(variant: Variant): Promise<BenchServer> {
    const folder = mkdtempSync(path.join(tmpdir(), 'chirality-bench-'))
    const program = fileURLToPath(new URL('server-process.ts', import.meta.url))
    const execArgv = ['--import', 'tsx', '--conditions=@chirality/source']
    const child = fork(program, [variant, folder], { execArgv })
    const died = once(child, 'exit').then(() => Promise.reject(new Error(`The ${variant} server died.`)))
    // Later it is ended on purpose.
    died.catch(() => {})
    const [start] = (await Promise.race([once(child, 'message'), died])) as [Reply]
    return new BenchServer(child, { folder, variant, start })
  }

  async send(command: Command): Promise<Reply> {
    const reply = once(this.#child, 'message')
    this.#child.send(command)
    return ((await reply) as [Reply])[0]
  }

  /** Clients that note how late each event is. Spread over so many sessions, one subscription each. */
  async connect(clients: number, sessions: number): Promise<void> {
    this.latencies = []
    for (let i = 0; i < clients; i += 1) {
      const socket = await this.#socket()
      socket.on('message', data => this.#note(String(data)))
      if (this.#variant === 'ours')
        for (let s = 0; s < sessions; s += 1) socket.send(subscription(this.#start.sessionIds?.[s], s))
      this.#clients.push(socket)
    }
    // The answers to all of these are there when this one is.
    await new Promise(resolve => setTimeout(resolve, 300))
  }

  /** What it costs the server until a client has so many events. Not how long it takes: others use the machine, too. */
  async readAll(events: number): Promise<number> {
    const socket = await this.#socket()
    const { cpuMs: before = Number.NaN } = await this.send({ do: 'usage' })
    let seen = 0
    await new Promise<void>(resolve => {
      socket.on('message', data => {
        seen += envelopesIn(String(data)).length
        if (seen >= events) resolve()
      })
      socket.send(this.#variant === 'raw' ? 'all' : subscription(this.#start.sessionIds?.[0], 1))
    })
    const { cpuMs: after = Number.NaN } = await this.send({ do: 'usage' })
    socket.terminate()
    return after - before
  }

  /** The bytes of the last page of the first session. */
  async readTail(): Promise<number> {
    const socket = await this.#socket()
    const answer = once(socket, 'message')
    const input = { sessionId: this.#start.sessionIds?.[0], limit: TAIL_EVENTS, maxBytes: TAIL_BYTES }
    socket.send(JSON.stringify({ id: 1, method: 'query', params: { path: 'sessions.history', input } }))
    const text = String((await answer)[0])
    socket.terminate()
    const { result } = JSON.parse(text) as { result?: { data?: unknown[] } }
    if (!result?.data?.length) throw new Error(`No page of the session: ${text.slice(0, 200)}`)
    return Buffer.byteLength(text)
  }

  disconnect(): void {
    for (const socket of this.#clients) socket.terminate()
    this.#clients = []
  }

  async close(): Promise<void> {
    this.disconnect()
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #socket(): Promise<WebSocket> {
    const { url, token } = this.#start
    const headers = token ? { authorization: `Bearer ${token}` } : {}
    const socket = new WebSocket(this.#variant === 'ours' ? `${url}/trpc` : (url ?? ''), {
      headers,
      perMessageDeflate: false,
    })
    await once(socket, 'open')
    return socket
  }

  #note(text: string): void {
    const now = performance.timeOrigin + performance.now()
    for (const { event } of envelopesIn(text))
      if (event.data?.at !== undefined) this.latencies.push(now - event.data.at)
  }
}

function subscription(sessionId: string | undefined, id: number): string {
  return JSON.stringify({
    id,
    method: 'subscription',
    params: { path: 'session.events', input: { sessionId } },
  })
}

/** A raw batch, a batch of ours, or one tracked event. */
function envelopesIn(text: string): StampedEnvelope[] {
  const message = JSON.parse(text) as
    | StampedEnvelope[]
    | { result?: { data?: { data: StampedEnvelope | StampedEnvelope[] } } }
  return Array.isArray(message) ? message : [message.result?.data?.data ?? []].flat()
}
