import Anthropic from '@anthropic-ai/sdk'
import { startScriptedModel } from '@chirality/scripted-model'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { streamAnswer } from '../src/messages-api/api/stream-answer.ts'

/** The stream of an answer, read by us and by the vendor's SDK: how fast, and how soon. */
export async function messagesApiRows(): Promise<BenchRow[]> {
  return [await throughputRow(), await firstEventRow()]
}

const THROUGHPUT_BAR = 0.9
const FIRST_EVENT_BAR = 1.1
const DELTAS = 40_000
const CHUNK_BYTES = 16 * 1024
const ROUNDS = 7
const REQUESTS = 60
const BODY = { model: 'scripted', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Go' }] }

async function throughputRow(): Promise<BenchRow> {
  const bytes = Buffer.from(answer())
  const real = globalThis.fetch
  globalThis.fetch = async () =>
    new Response(pieces(bytes), { headers: { 'content-type': 'text/event-stream' } })
  const times = { ours: [] as number[], sdk: [] as number[] }
  try {
    const client = new Anthropic({ apiKey: 'dummy', baseURL: 'http://127.0.0.1:9', maxRetries: 0 })
    // In turns, so that whatever else the machine does falls on both.
    for (let round = 0; round < ROUNDS; round += 1) {
      times.sdk.push(await timed(() => readWithSdk(client)))
      times.ours.push(await timed(() => readWithOurs('http://127.0.0.1:9')))
    }
  } finally {
    globalThis.fetch = real
  }
  const speed = (all: number[]) => bytes.length / 1e6 / (median(all) / 1000)
  return benchRow({
    name: 'Messages API, parsing a stream: ours against @anthropic-ai/sdk',
    ratio: speed(times.ours) / speed(times.sdk),
    bar: THROUGHPUT_BAR,
    better: 'higher',
    detail: `ours ${speed(times.ours).toFixed(0)} MB/s; SDK ${speed(times.sdk).toFixed(0)} MB/s`,
  })
}

async function firstEventRow(): Promise<BenchRow> {
  const model = await startScriptedModel({ otherwise: 'The answer is the same every time.' })
  const client = new Anthropic({ apiKey: 'dummy', baseURL: model.url, maxRetries: 0 })
  const times = { ours: [] as number[], sdk: [] as number[] }
  try {
    for (let request = 0; request < REQUESTS; request += 1) {
      times.sdk.push(await readWithSdk(client))
      times.ours.push(await readWithOurs(model.url))
    }
  } finally {
    await model.close()
  }
  // The first of each opens the connection and compiles the code.
  const [ours, sdk] = [median(times.ours.slice(1)), median(times.sdk.slice(1))]
  return benchRow({
    name: 'Messages API, request to first event: ours against @anthropic-ai/sdk',
    ratio: ours / sdk,
    bar: FIRST_EVENT_BAR,
    better: 'lower',
    detail: `ours p50 ${ours.toFixed(2)} ms; SDK p50 ${sdk.toFixed(2)} ms`,
  })
}

/** Reads to the end; returns when the first event came, in ms. */
async function readWithSdk(client: Anthropic): Promise<number> {
  const startedAt = performance.now()
  let first = Number.NaN
  for await (const _event of await client.messages.create({ ...BODY, stream: true })) {
    if (Number.isNaN(first)) first = performance.now() - startedAt
  }
  return first
}

/** The same, and puts the answer together, which that call of the SDK does not. */
async function readWithOurs(baseUrl: string): Promise<number> {
  const startedAt = performance.now()
  let first = Number.NaN
  await streamAnswer({
    endpoint: { apiKey: 'dummy', baseUrl },
    body: JSON.stringify({ ...BODY, stream: true }),
    signal: new AbortController().signal,
    onEvent: () => {
      if (Number.isNaN(first)) first = performance.now() - startedAt
    },
  })
  return first
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

function answer(): string {
  const event = (value: { type: string; [field: string]: unknown }) =>
    `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
  const usage = { input_tokens: 1, output_tokens: 1 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'scripted', content: [], usage }
  const delta = {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: ' a few words of it' },
  }
  return [
    event({ type: 'message_start', message }),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    event(delta).repeat(DELTAS),
    event({ type: 'content_block_stop', index: 0 }),
    event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }),
    event({ type: 'message_stop' }),
  ].join('')
}

function pieces(bytes: Buffer): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.subarray(at, at + CHUNK_BYTES))
      at += CHUNK_BYTES
    },
  })
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
