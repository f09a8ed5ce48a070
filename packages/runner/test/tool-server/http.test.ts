import { connect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { describe, expect, test } from 'vitest'
import type { ToolServerHandle } from '../../src/tool-server/index.ts'
import { call, ECHO, INITIALIZE, rpc, send, useToolServer } from './support.ts'

const servers = useToolServer()

function portOf({ mcpServer }: ToolServerHandle): number {
  return Number(new URL(mcpServer.url).port)
}

test('what an MCP client with the token sends is answered', async () => {
  const answer = await send(await servers.start(), { body: INITIALIZE })
  expect(answer).toMatchObject({ status: 200, headers: { 'mcp-session-id': expect.any(String) } })
  expect(answer.body).toContain('"serverInfo"')
})

test.each([
  ['no token', { authorization: undefined, Authorization: undefined }, 401],
  ['a wrong token', { Authorization: 'Bearer wrong' }, 401],
  ['an Origin', { origin: 'http://localhost:3000' }, 403],
  ['the Host of a rebound name', { host: 'evil.example' }, 403],
  ['no JSON', { 'content-type': 'text/plain' }, 415],
])('%s is refused', async (_what, headers, status) => {
  const handle = await servers.start()
  expect((await send(handle, { headers, body: INITIALIZE })).status).toBe(status)
  expect(await call(await servers.connect(handle), 'echo', { text: 'hi' })).toMatchObject({
    text: 'echo: hi',
  })
})

test.each([
  { method: 'GET', path: '/' },
  { method: 'PUT', path: '/mcp' },
  { method: 'OPTIONS', path: '/mcp' },
  { method: 'GET', path: '/.well-known/oauth-authorization-server' },
])('$method $path is not there', async sent => {
  expect((await send(await servers.start(), sent)).status).toBe(404)
})

test('the token of one server does not open another', async () => {
  const [one, other] = [await servers.start(), await servers.start()]
  expect(one.mcpServer.headers).not.toEqual(other.mcpServer.headers)
  const mixed = { ...one, mcpServer: { ...one.mcpServer, headers: other.mcpServer.headers } }
  expect((await send(mixed, { body: INITIALIZE })).status).toBe(401)
})

test('a refused request says nothing about the server and ends the connection', async () => {
  const answer = await send(await servers.start(), { headers: { Authorization: undefined } })
  expect(answer.headers).toMatchObject({ connection: 'close', 'www-authenticate': 'Bearer' })
  expect(JSON.parse(answer.body)).toEqual({
    jsonrpc: '2.0',
    error: { code: -32_000, message: 'The bearer token is missing or wrong.' },
    id: null,
  })
})

describe('without a token, when the caller wants it so,', () => {
  test('calls work and pages are still kept out', async () => {
    const handle = await servers.start([ECHO], { requireAuth: false })
    expect(handle.mcpServer.headers).toBeUndefined()
    expect(await call(await servers.connect(handle), 'echo', { text: 'hi' })).toMatchObject({
      text: 'echo: hi',
    })
    expect((await send(handle, { headers: { host: 'evil.example' }, body: INITIALIZE })).status).toBe(403)
    expect((await send(handle, { headers: { origin: 'null' }, body: INITIALIZE })).status).toBe(403)
  })
})

describe('a body', () => {
  test.each([
    ['nothing', '', 400, -32_700],
    ['no JSON', '{"jsonrpc":', 400, -32_700],
    ['no JSON-RPC', '{"hello":1}', 400, -32_700],
    ['a number', '7', 400, -32_700],
    ['null', 'null', 400, -32_700],
    ['bytes', Buffer.from([0xff, 0xfe, 0x00]), 400, -32_700],
    ['too deep a nest', '['.repeat(200_000), 400, -32_700],
    ['a batch of a thousand', `[${new Array(1000).fill(rpc('ping')).join()}]`, 400, -32_600],
    ['a call before a hello', rpc('tools/call', { name: 'echo' }), 400, -32_000],
    ['a hello without its fields', rpc('initialize'), 400, -32_000],
  ])('of %s is answered with an error', async (_what, body, status, code) => {
    const handle = await servers.start()
    const answer = await send(handle, { body })
    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code } })
    expect(await call(await servers.connect(handle), 'echo', { text: 'hi' })).toMatchObject({
      text: 'echo: hi',
    })
  })

  test.each([
    ['announced', {}],
    ['not announced', { 'transfer-encoding': 'chunked' }],
  ])('above the cap, %s, is refused', async (_what, headers) => {
    const answer = await send(await servers.start(), { headers, body: `"${'x'.repeat(1024 * 1024)}"` })
    expect(answer).toMatchObject({ status: 413, body: expect.stringContaining('1048576 bytes') })
  })
})

describe('a session', () => {
  test.each([{ method: 'GET' }, { method: 'DELETE' }, { method: 'POST', body: rpc('ping') }])(
    'that does not exist cannot be used by $method',
    async sent => {
      const headers = { 'mcp-session-id': 'b1946ac9-2492-4d23-8b5a-000000000000' }
      expect((await send(await servers.start(), { ...sent, headers })).status).toBe(404)
    },
  )

  test('that was ended by its client is gone', async () => {
    const handle = await servers.start()
    const { headers } = await send(handle, { body: INITIALIZE })
    const session = { 'mcp-session-id': headers['mcp-session-id'] }
    expect((await send(handle, { headers: session, body: rpc('ping') })).status).toBe(200)
    expect((await send(handle, { method: 'DELETE', headers: session })).status).toBe(200)
    expect((await send(handle, { headers: session, body: rpc('ping') })).status).toBe(404)
  })

  test('of a client that never said good-bye makes room for new ones', async () => {
    const handle = await servers.start()
    const client = await servers.connect(handle)
    const left = await send(handle, { body: INITIALIZE })
    for (let index = 0; index < 100; index += 1) {
      expect((await send(handle, { body: INITIALIZE })).status).toBe(200)
    }
    const session = { 'mcp-session-id': left.headers['mcp-session-id'] }
    expect((await send(handle, { headers: session, body: rpc('ping') })).status).toBe(404)
    // This one was used less recently, but it listens.
    expect(await call(client, 'echo', { text: 'hi' })).toMatchObject({ text: 'echo: hi' })
  })
})

describe('the port', () => {
  test('is bound to loopback only', async () => {
    const handle = await servers.start()
    const elsewhere = Object.values(networkInterfaces()).flatMap(addresses =>
      (addresses ?? []).flatMap(({ address, family }) =>
        family === 'IPv4' && address !== '127.0.0.1' ? [address] : [],
      ),
    )
    // On Linux all of 127.0.0.0/8 is loopback; elsewhere a connection to it would wait for ever.
    if (process.platform === 'linux') elsewhere.push('127.0.0.2')
    for (const host of ['::1', ...elsewhere]) {
      await expect(opened(connect({ host, port: portOf(handle) }))).rejects.toThrow()
    }
  })

  test('can be bound to ::1', async () => {
    const addresses = Object.values(networkInterfaces()).flatMap(found => found ?? [])
    if (!addresses.some(({ address }) => address === '::1')) {
      await expect(servers.start([ECHO], { host: '::1' })).rejects.toThrow('cannot listen')
      return
    }
    const handle = await servers.start([ECHO], { host: '::1' })
    expect(handle.mcpServer.url).toMatch(/^http:\/\/\[::1\]:\d+\/mcp$/)
    expect(await call(await servers.connect(handle), 'echo', { text: 'hi' })).toMatchObject({
      text: 'echo: hi',
    })
  })

  test('is not kept by one who says nothing', async () => {
    const handle = await servers.start()
    const silent = connect({ host: '127.0.0.1', port: portOf(handle) })
    await opened(silent)
    silent.resume()
    await new Promise(resolve => silent.once('close', resolve))
  })
})

function opened(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once('connect', resolve)
  })
}
