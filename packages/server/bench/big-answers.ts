import { once } from 'node:events'
import { type CleanHome, claudeBinary, cleanHome } from '@chirality/fixtures'
import { startScriptedModel } from '@chirality/scripted-model'
import { WebSocket } from 'ws'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { BenchServer } from './bench-server.ts'
import { keptSdk } from './follow-up/kept-sdk.ts'
import { openServer } from './follow-up/rows.ts'
import { median, spread } from './statistics.ts'

const SESSIONS = 10
const ROUNDS = 5
const MESSAGE = 'Write it all down.'
/** 200 KB. */
const ANSWER = 'All of what was asked for, in one long answer. '.repeat(4358)
const KB = 1024

/** Ten long answers at once, beside the official SDK with ten processes that it keeps, and the bytes of one of them. */
export async function bigAnswerRows(): Promise<BenchRow[]> {
  await using model = await startScriptedModel({ otherwise: ANSWER })
  await using world = await cleanHome(model)
  await using server = await openServer(world, claudeBinary(), SESSIONS)
  await using client = await Client.open(server)
  await using kept = await keptSdks(world)
  const ours: number[] = []
  const sdk: number[] = []
  let bytes = 0
  // The first round starts the agents.
  for (let round = -1; round < ROUNDS; round += 1) {
    const startedAt = performance.now()
    bytes = await client.turns(server.sessionIds)
    const oursMs = performance.now() - startedAt
    await Promise.all(kept.processes.map(each => each.firstText(MESSAGE)))
    if (round < 0) continue
    ours.push(oursMs)
    sdk.push(performance.now() - startedAt - oursMs)
  }
  const ratios = ours.map((ms, round) => ms / (sdk[round] ?? Number.NaN))
  return [
    benchRow({
      name: 'ten sessions answer 200 KB at once: of ten kept SDK processes',
      ratio: median(ratios),
      bar: 1.3,
      better: 'lower',
      detail: `${median(ours).toFixed(0)} ms against ${median(sdk).toFixed(0)} ms; ${spread(ratios)}`,
    }),
    benchRow({
      name: 'bytes to the client for an answer of 200 KB: of its text',
      ratio: bytes / SESSIONS / ANSWER.length,
      bar: 1.4,
      better: 'lower',
      detail: `${Math.round(bytes / SESSIONS / KB)} KB for ${Math.round(ANSWER.length / KB)} KB`,
    }),
  ]
}

async function keptSdks(world: CleanHome) {
  const processes: Awaited<ReturnType<typeof keptSdk>>[] = []
  for (let i = 0; i < SESSIONS; i += 1) processes.push(await keptSdk(world))
  return {
    processes,
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map(each => each[Symbol.asyncDispose]()))
    },
  }
}

/** The first page of a long session, as the dashboard asks for it. */
export async function reopenRows(): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const events of [5_000, 1_000_000]) {
    const server = await BenchServer.open('ours')
    await server.send({ do: 'fill', events })
    const bytes = await server.readTail()
    await server.close()
    rows.push(
      benchRow({
        name: `reopen a session of ${events.toLocaleString('en')} events: bytes / 300 KB`,
        ratio: bytes / (300 * KB),
        bar: 1,
        better: 'lower',
        detail: `${Math.round(bytes / KB)} KB`,
      }),
    )
  }
  return rows
}

/** A socket as the dashboard has it: one subscription for each session, texts sent once. */
class Client {
  readonly #socket: WebSocket
  #bytes = 0
  #ended = 0
  #id = 0
  #wake: () => void = () => {}

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', data => {
      const text = String(data)
      this.#bytes += Buffer.byteLength(text)
      this.#ended += text.split('"type":"turn:end"').length - 1
      this.#wake()
    })
  }

  static async open({ url, token, sessionIds }: Awaited<ReturnType<typeof openServer>>): Promise<Client> {
    const headers = { authorization: `Bearer ${token}` }
    const socket = new WebSocket(`${url.replace('http', 'ws')}/trpc`, { headers, perMessageDeflate: false })
    await once(socket, 'open')
    const client = new Client(socket)
    for (const sessionId of sessionIds)
      client.#send('subscription', 'session.events', { sessionId, textOnce: true })
    return client
  }

  /** Lets all sessions answer at the same time. Resolves to the bytes that came until the last had ended. */
  async turns(sessionIds: readonly string[]): Promise<number> {
    this.#bytes = 0
    this.#ended = 0
    for (const sessionId of sessionIds) this.#send('mutation', 'turns.start', { sessionId, message: MESSAGE })
    while (this.#ended < sessionIds.length)
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    return this.#bytes
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.terminate()
  }

  #send(method: 'subscription' | 'mutation', path: string, input: object): void {
    this.#id += 1
    this.#socket.send(JSON.stringify({ id: this.#id, method, params: { path, input } }))
  }
}
