import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import type { ClientToolDefinition, HarnessTurnOpts } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { filesWith } from '../support/files-with.ts'
import { bodies, collect, expectOneEnd, ofType, statuses, toolOutputs } from './support/events.ts'
import { useWorld, VOICES } from './support/world.ts'

const world = useWorld()

const ECHO = path.resolve(import.meta.dirname, '../programs/mcp-echo.mjs')
const CLIENT_TOOLS = 'mcp____harness_client_tools'

describe.each(VOICES)('tools that a query brings along, through $voice', ({ voice }) => {
  const weather = (handler: ClientToolDefinition['handler']): ClientToolDefinition => {
    const inputSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    return { name: 'weather', description: 'Says how the weather is.', inputSchema, handler }
  }
  const spawnedWith = () => world.logs.flatMap(({ event, data }) => (event === 'process:spawn' ? [data] : []))

  test('a client tool runs without asking; its token is nowhere to be read, and its server is gone afterwards', async () => {
    const call = { tool: 'weather', namespace: CLIENT_TOOLS, input: { city: 'Oslo' } }
    const model = await world.model({ answers: [call], otherwise: 'Done.' })
    const harness = world.harness({ model, voice })
    const calls: unknown[] = []
    const seen: string[] = []
    let port = 0
    const clientTools = [
      weather(async input => {
        calls.push(input)
        seen.push(...processesOf(world.marker))
        port = Number(/127\.0\.0\.1:(\d+)\/mcp/.exec(seen.join('\n'))?.[1] ?? 0)
        return { content: 'rain' }
      }),
    ]
    const events = await collect(harness.startTurn(world.session(), 'How is it?', { clientTools }))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(calls).toEqual([{ city: 'Oslo' }])
    expect(ofType(events, 'tool:result')).toMatchObject([{ isError: false, content: 'rain' }])
    expect(toolOutputs(model)).toContain('rain')
    const token = /CHIRALITY_MCP_TOKEN_\d=Bearer ([\w-]{43})/.exec(seen.join('\n'))?.[1]
    expect(token !== undefined).toBe(voice === 'exec')
    if (token) expect(JSON.stringify(spawnedWith())).not.toContain(token)
    expect(filesWith(world.root, token ?? 'Bearer ')).toEqual([])
    if (port) await expect(fetch(`http://127.0.0.1:${port}/mcp`)).rejects.toThrow()
  })

  test('a client tool is there from the first request on, however busy we are when it is asked for', async () => {
    const call = { tool: 'weather', namespace: CLIENT_TOOLS, input: { city: 'Oslo' } }
    const model = await world.model({ answers: [call], otherwise: 'Done.' })
    const clientTools = [weather(async () => ({ content: 'rain' }))]
    const harness = world.harness({ model, voice })
    blockOnce('/mcp', 2_000)
    const events = await collect(harness.startTurn(world.session(), 'How is it?', { clientTools }))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(ofType(events, 'tool:result')).toMatchObject([{ isError: false, content: 'rain' }])
  })

  test('a client tool that fails is a failure of the tool alone', async () => {
    const call = { tool: 'weather', namespace: CLIENT_TOOLS, input: { city: 'Oslo' } }
    const model = await world.model({ answers: [call], otherwise: 'Done.' })
    const clientTools = [weather(() => Promise.reject(new Error('NO-STATION')))]
    const harness = world.harness({ model, voice })
    const events = await collect(harness.startTurn(world.session(), 'How is it?', { clientTools }))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(toolOutputs(model)).toContain('NO-STATION')
  })

  test('client tools of later turns of a session work too', async () => {
    const call = { tool: 'weather', namespace: CLIENT_TOOLS, input: { city: 'Oslo' } }
    const model = await world.model({ answers: ['Hello.', call, 'Rain.', call, 'Sun.', 'Bye.'] })
    const harness = world.harness({ model, voice })
    const session = world.session()
    const tellings = [undefined, 'rain', 'sun', undefined]
    for (const telling of tellings) {
      const opts = telling ? { clientTools: [weather(async () => ({ content: telling }))] } : {}
      const events = await collect(harness.startTurn(session, 'How is it?', opts))
      expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
      const [init] = ofType(events, 'session:init')
      if (session.claudeSessionId) expect(init?.claudeSessionId).toBe(session.claudeSessionId)
      session.claudeSessionId = init?.claudeSessionId ?? null
      expect(ofType(events, 'tool:result').map(({ content }) => content)).toEqual(telling ? [telling] : [])
    }
  })

  test('a session may get tools while others of its project are at work', async () => {
    const call = { tool: 'weather', namespace: CLIENT_TOOLS, input: { city: 'Oslo' } }
    const slow = { text: 'Slow.', chunkChars: 2, stallAfter: 1 }
    const model = await world.model({
      answers: ['Hello.', call, 'Rain.'],
      routes: [{ when: { conversationContains: 'other session' }, answers: [slow] }],
    })
    const harness = world.harness({ model, voice })
    const session = world.session()
    const first = await collect(harness.startTurn(session, 'Hi'))
    session.claudeSessionId = ofType(first, 'session:init')[0]?.claudeSessionId ?? null
    const other = collect(harness.startTurn(world.session(), 'I am the other session'))
    await model.waitForRequest(({ state }) => state === 'stalled')
    const clientTools = [weather(async () => ({ content: 'rain' }))]
    const events = await collect(harness.startTurn(session, 'How is it?', { clientTools }))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(ofType(events, 'session:init')[0]?.claudeSessionId).toBe(session.claudeSessionId)
    expect(ofType(events, 'tool:result')).toMatchObject([{ content: 'rain' }])
    model.release()
    expect(expectOneEnd(await other, voice)).toEqual({ reason: 'completed' })
  })

  test.each([
    { what: 'an invalid schema', second: { inputSchema: { type: 'nonsense' } } },
    { what: 'the name of another', second: { name: 'weather' } },
  ])('a client tool with $what is refused before anything starts', async ({ second }) => {
    const tool = weather(async () => ({}))
    const clientTools = [tool, { ...tool, name: 'other', ...second }]
    const events = world.harness({ voice }).startTurn(world.session(), 'Hi', { clientTools })
    await expect(events.next()).rejects.toMatchObject({ code: 'invalid_query' })
    expect(world.spools()).toEqual([])
  })

  test('an MCP server over stdio is started with its environment, and ended with the turn', async () => {
    const call = { tool: 'shout', namespace: 'mcp__echo', input: { text: 'hello' } }
    const model = await world.model({ answers: [call], otherwise: 'Done.' })
    const env = { ECHO_SUFFIX: '!', ECHO_API_KEY: 'key-in-no-argv' }
    const opts: HarnessTurnOpts = {
      mcpServers: { echo: { type: 'stdio', command: process.execPath, args: [ECHO], env } },
    }
    const events = await collect(world.harness({ model, voice }).startTurn(world.session(), 'Shout', opts))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(ofType(events, 'tool:start')).toMatchObject([
      { name: 'mcp__echo__shout', input: { text: 'hello' } },
    ])
    expect(toolOutputs(model)).toContain('HELLO!')
    expect(JSON.stringify(spawnedWith())).not.toContain('key-in-no-argv')
    expect(processesOf(world.marker).filter(line => line.includes('mcp-echo'))).toEqual([])
  })

  test('an MCP server over HTTP gets its headers, which are neither in argv nor on disk', async () => {
    const call = { tool: 'shout', namespace: 'mcp__web', input: { text: 'hello' } }
    const model = await world.model({ answers: [call], otherwise: 'Done.' })
    const web = await startWebServer()
    const headers = { Authorization: 'Bearer web-token-4711', 'X-Extra': 'extra-0815' }
    const opts: HarnessTurnOpts = { mcpServers: { web: { type: 'http', url: web.url, headers } } }
    const events = await collect(world.harness({ model, voice }).startTurn(world.session(), 'Shout', opts))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(toolOutputs(model)).toContain('HELLO')
    expect(web.headers.at(-1)).toMatchObject({
      authorization: 'Bearer web-token-4711',
      'x-extra': 'extra-0815',
    })
    const written = JSON.stringify(spawnedWith())
    for (const secret of ['web-token-4711', 'extra-0815']) {
      expect(written).not.toContain(secret)
      expect(filesWith(world.root, secret)).toEqual([])
    }
  })

  test('an MCP server that is down causes a notice, and the turn still gets its answer', async () => {
    const model = await world.model({ otherwise: 'Done without it.' })
    const opts: HarnessTurnOpts = {
      mcpServers: {
        down: { type: 'http', url: 'http://127.0.0.1:9/mcp' },
        gone: { type: 'stdio', command: '/does/not/exist' },
      },
    }
    const events = await collect(world.harness({ model, voice }).startTurn(world.session(), 'Hi', opts))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(bodies(model)).toHaveLength(1)
    // What Codex tells by itself: nothing of a program that is missing in `exec`, no name of an address that is down.
    expect(JSON.stringify(world.logs)).toContain('http://127.0.0.1:9/mcp')
    if (voice === 'app-server') {
      expect(statuses(events, 'notice')).toContainEqual(
        expect.objectContaining({ level: 'warn', message: expect.stringContaining('gone') }),
      )
    }
  })

  test('a name that would lead an override astray is refused', async () => {
    const mcpServers = { 'a.b': { type: 'stdio', command: 'true' } } as const
    const events = world.harness({ voice }).startTurn(world.session(), 'Hi', { mcpServers })
    await expect(events.next()).rejects.toMatchObject({ code: 'invalid_query' })
  })
})

/** The smallest MCP server over HTTP: one tool, answers as JSON. */
async function startWebServer() {
  const headers: IncomingHttpHeaders[] = []
  const schema = { type: 'object', properties: { text: { type: 'string' } } }
  const answers: Record<string, (params: Record<string, unknown>) => unknown> = {
    initialize: ({ protocolVersion }) => ({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'web', version: '1' },
    }),
    'tools/list': () => ({ tools: [{ name: 'shout', description: 'Louder.', inputSchema: schema }] }),
    'tools/call': params => {
      const { text } = params.arguments as { text: string }
      return { content: [{ type: 'text', text: text.toUpperCase() }] }
    },
  }
  const server = createServer(async (request, response) => {
    headers.push(request.headers)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString())
    if (id === undefined) return void response.writeHead(202).end()
    const result = answers[method]?.(params ?? {})
    const body = result ? { result } : { error: { code: -32601, message: 'no such method' } }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...body }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  world.atEnd(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, headers }
}

/** Command line and environment of each process with this marker, as anyone of this user can read them. */
function processesOf(marker: string): string[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc').flatMap(pid => {
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
      if (!environment.includes(marker)) return []
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      return [`${line.replaceAll('\0', ' ')}\n${environment.replaceAll('\0', '\n')}`]
    } catch {
      return []
    }
  })
}

/** Nothing else is done in this process for a while, as soon as a server of it is asked for this path. Codex gives up after 1 s. */
function blockOnce(path: string, ms: number): void {
  const channel = 'http.server.request.start'
  const block = (message: unknown) => {
    if ((message as { request: IncomingMessage }).request.url !== path) return
    unsubscribe(channel, block)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  }
  subscribe(channel, block)
}
