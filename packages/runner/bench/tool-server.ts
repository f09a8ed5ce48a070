import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { startToolServer } from '../src/tool-server/index.ts'
import type { Percentiles } from './tail-latency.ts'

/** One echo there and back, through the tool server and through the SDK's own server with nothing around it. */
export async function toolServerRow(): Promise<BenchRow> {
  const { ours, bare } = await measure()
  const show = ({ p50Ms, p99Ms }: Percentiles) => `p50 ${p50Ms.toFixed(3)} ms, p99 ${p99Ms.toFixed(3)} ms`
  return benchRow({
    name: 'client tool, there and back: p50 against a bare MCP SDK server',
    ratio: ours.p50Ms / bare.p50Ms,
    bar: ALLOWED_AGAINST_BARE,
    better: 'lower',
    detail: `ours ${show(ours)}; bare ${show(bare)}`,
  })
}

const ALLOWED_AGAINST_BARE = 1.3

async function measure(): Promise<{ ours: Percentiles; bare: Percentiles }> {
  const [ours, bare] = [await startOurs(), await startBare()]
  const times = { ours: [] as number[], bare: [] as number[] }
  try {
    await roundTrips(ours.client, WARM_UP)
    await roundTrips(bare.client, WARM_UP)
    // In turns, so that whatever else the machine does falls on both.
    for (let index = 0; index < CALLS; index += 1) {
      times.ours.push(...(await roundTrips(ours.client, 1)))
      times.bare.push(...(await roundTrips(bare.client, 1)))
    }
  } finally {
    await Promise.all([ours.stop(), bare.stop()])
  }
  return { ours: percentiles(times.ours), bare: percentiles(times.bare) }
}

const WARM_UP = 200
const CALLS = 1_000
const TEXT = 'The quick brown fox jumps over the lazy dog.'

interface Side {
  client: Client
  stop(): Promise<void>
}

async function startOurs(): Promise<Side> {
  const inputSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
  const handler = async ({ text }: Record<string, unknown>) => ({ content: String(text) })
  const handle = await startToolServer([
    { name: 'echo', description: 'Says it again.', inputSchema, handler },
  ])
  const client = await connect(handle.mcpServer.url, handle.mcpServer.headers)
  return { client, stop: () => client.close().then(handle.stop) }
}

async function startBare(): Promise<Side> {
  const mcp = new McpServer({ name: 'bare', version: '1' })
  mcp.registerTool(
    'echo',
    { description: 'Says it again.', inputSchema: { text: z.string() } },
    async ({ text }) => ({ content: [{ type: 'text', text }] }),
  )
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID })
  await mcp.connect(transport)
  const server = createServer((request, response) => void transport.handleRequest(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const client = await connect(`http://127.0.0.1:${port}/mcp`, {})
  const stop = async () => {
    await client.close()
    await mcp.close()
    const closed = new Promise(resolve => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
  return { client, stop }
}

async function connect(url: string, headers: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  return client
}

async function roundTrips(client: Client, count: number): Promise<number[]> {
  const times: number[] = []
  for (let index = 0; index < count; index += 1) {
    const start = performance.now()
    await client.callTool({ name: 'echo', arguments: { text: TEXT } })
    times.push(performance.now() - start)
  }
  return times
}

function percentiles(values: number[]): Percentiles {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}
