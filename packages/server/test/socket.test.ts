import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { rawRequest, UPGRADE } from './support/raw-request.ts'
import { startTestServer, type TestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'

function open(server: TestServer, path = '/trpc?connectionParams=1'): WebSocket {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, { origin: server.url })
  socket.on('error', () => {})
  return socket
}

async function firstMessage(socket: WebSocket, send: string): Promise<unknown> {
  await once(socket, 'open')
  socket.send(send)
  const [data] = await once(socket, 'message')
  return JSON.parse(String(data))
}

const CALL = { id: 1, method: 'query', params: { path: 'system.info' } }

test('a socket that shows no token is closed, however long its request took', async () => {
  const server = await startTestServer({ limits: { authenticateMs: 1, headersMs: 120_000 } })
  const socket = connectTcp({ port: server.port, host: '127.0.0.1' })
  const closed = once(socket, 'close')
  const lines = Object.entries({ ...UPGRADE, host: `127.0.0.1:${server.port}`, origin: server.url })
  socket.write('GET /trpc?connectionParams=1 HTTP/1.1\r\n')
  // Longer than the time for the token, which begins with the socket and not with the connection.
  await pause(50)
  socket.write(`${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
  expect(String((await once(socket, 'data'))[0])).toContain(' 101 ')
  await closed
})

test.each([
  ['a wrong token', { method: 'connectionParams', data: { token: 'x' } }],
  ['no token', { method: 'connectionParams', data: null }],
  ['a token that is no text', { method: 'connectionParams', data: { token: 1 } }],
  ['a call', CALL],
  ['no object', 'x'],
])('a socket whose first message is %s hears why, and is closed', async (_name, message) => {
  const server = await startTestServer()
  const socket = open(server)
  const closed = once(socket, 'close')
  expect(await firstMessage(socket, JSON.stringify(message))).toMatchObject({ error: {} })
  await closed
  expect(server.faults).toEqual([])
})

test('a socket without the promise of a token gets nothing', async () => {
  const server = await startTestServer()
  const socket = open(server, '/trpc')
  const [data] = await once(socket, 'message')
  expect(JSON.parse(String(data))).toMatchObject({ error: { data: { code: 'UNAUTHORIZED' } } })
  const [code] = await once(socket, 'close')
  expect(code).toBe(4401)
})

test('a socket with the token is accepted', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  expect(await client.system.info.query()).toMatchObject({ version: '1.2.3', address: server.url })
  expect(await client.system.health.query()).toMatchObject({ sockets: 1 })
})

test('only so many sockets may be there, and the oldest silent one makes room', async () => {
  const server = await startTestServer({
    limits: { maxSockets: 3, maxUnauthenticated: 2, handshakesPerSecond: 1e6 },
  })
  const silent: WebSocket[] = []
  const openSilent = async () => {
    const socket = open(server)
    silent.push(socket)
    await once(socket, 'open')
  }
  await openSilent()
  await openSilent()
  const gone = silent.map(socket => once(socket, 'close'))
  const headers = { ...UPGRADE, host: `127.0.0.1:${server.port}`, origin: server.url }
  const upgrade = (more: Record<string, string>) =>
    rawRequest(server.port, { path: '/trpc', headers: { ...headers, ...more } }).then(({ status }) => status)
  // Whoever holds all the places without a token keeps nobody out.
  await openSilent()
  await gone[0]
  expect(silent[1]?.readyState).toBe(WebSocket.OPEN)
  const trusted = new WebSocket(`${server.url.replace('http', 'ws')}/trpc`, {
    headers: { authorization: `Bearer ${server.token}` },
  })
  await once(trusted, 'open')
  const token = { authorization: `Bearer ${server.token}` }
  expect(await upgrade(token)).toBe(101)
  await gone[1]
  for (const socket of [...silent, trusted]) socket.terminate()
})

test('strangers who used up all handshakes keep no page with a token out', async () => {
  const server = await startTestServer({ limits: { maxSockets: 20, handshakesPerSecond: 0 } })
  const address = `${server.url.replace('http', 'ws')}/trpc`
  const knock = (protocols: string[]) =>
    new Promise<string>(resolve => {
      const socket = new WebSocket(address, protocols, { origin: server.url })
      socket.on('error', ({ message }) => resolve(message))
      socket.on('unexpected-response', (request, response) => {
        request.destroy()
        resolve(String(response.statusCode))
      })
      socket.on('open', () => {
        resolve(`open as ${socket.protocol || 'nothing'}`)
        socket.terminate()
      })
    })
  const answers: string[] = []
  for (let i = 0; i < 25; i += 1) answers.push(await knock(['chirality', `chirality.token.${'x'.repeat(i)}`]))
  expect(new Set(answers.slice(0, 20))).toEqual(new Set(['open as chirality']))
  expect(new Set(answers.slice(20))).toEqual(new Set(['503']))
  expect(await knock(['chirality', `chirality.token.${server.token}`])).toBe('open as chirality')
  // The token is never the answer, which other programs may log.
  expect(await knock([`chirality.token.${server.token}`])).toBe('Server sent no subprotocol')
})

test('a socket whose handshake shows the token needs no first message', async () => {
  const server = await startTestServer({ limits: { authenticateMs: 50 } })
  const protocols = ['chirality', `chirality.token.${server.token}`]
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/trpc`, protocols, { origin: server.url })
  expect(await firstMessage(socket, JSON.stringify(CALL))).toMatchObject({ id: 1, result: {} })
  socket.terminate()
  const foreign = rawRequest(server.port, {
    path: '/trpc',
    headers: {
      ...{ ...UPGRADE, host: `127.0.0.1:${server.port}`, origin: 'http://evil.example' },
      'sec-websocket-protocol': protocols.join(', '),
    },
  })
  expect((await foreign).status).toBe(403)
})

test('a batch, a rate and a message have limits', async () => {
  const server = await startTestServer()
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/trpc`, {
    headers: { authorization: `Bearer ${server.token}` },
  })
  socket.on('error', () => {})
  const tooMany = JSON.stringify(Array.from({ length: 21 }, () => CALL))
  expect(await firstMessage(socket, tooMany)).toMatchObject({ error: { data: { code: 'PARSE_ERROR' } } })
  const answers: string[] = []
  socket.on('message', data => answers.push(String(data)))
  for (let i = 0; i < 60; i += 1) socket.send(JSON.stringify(Array.from({ length: 20 }, () => CALL)))
  socket.send('PING')
  await expect.poll(() => answers.includes('PONG')).toBe(true)
  expect(answers.some(answer => answer.includes('PARSE_ERROR'))).toBe(true)
  const closed = once(socket, 'close')
  socket.send('x'.repeat(1024 * 1024 + 1))
  expect((await closed)[0]).toBe(1009)
})

test('pings are answered, unless the client does not read the answers', async () => {
  const server = await startTestServer({ limits: { authenticateMs: 120_000 } })
  const socket = open(server)
  await once(socket, 'open')
  socket.ping('x')
  expect(String((await once(socket, 'pong'))[0])).toBe('x')
  let answers = 0
  socket.on('pong', () => {
    answers += 1
  })
  socket.pause()
  const payload = Buffer.alloc(125)
  // Far more than the buffers of the system hold.
  for (let i = 0; i < PINGS; i += 1) socket.ping(payload)
  await expect.poll(() => socket.bufferedAmount).toBe(0)
  socket.resume()
  const closed = once(socket, 'close')
  socket.send(JSON.stringify(CALL))
  await closed
  expect(answers).toBeLessThan(PINGS)
})

const PINGS = 400_000

test('errors have stable codes, and neither stacks nor what was given', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const errorOf = (call: Promise<unknown>) =>
    call.then(
      () => undefined,
      (error: { message: string; data: Record<string, unknown> }) => ({
        message: error.message,
        ...error.data,
      }),
    )
  const missing = await errorOf(client.sessions.get.query({ sessionId: 'nope' }))
  expect(missing).toMatchObject({ code: 'NOT_FOUND', reason: 'not-found', httpStatus: 404 })
  const foreign = await errorOf(client.files.tree.query({ project: '/etc', path: '' }))
  expect(foreign).toMatchObject({ code: 'FORBIDDEN', reason: 'project-not-registered' })
  const invalid = await errorOf(client.sessions.get.query({ sessionId: '../secret' }))
  expect(invalid).toMatchObject({
    code: 'BAD_REQUEST',
    reason: 'invalid-input',
    message: 'sessionId: must be the id of a session',
  })
  const answer = await errorOf(
    client.decisions.answer.mutate({ sessionId: 's', requestId: 'r', decision: { behavior: 'deny' } }),
  )
  expect(answer).toMatchObject({ code: 'NOT_FOUND', reason: 'decision-unknown' })
  for (const error of [missing, foreign, invalid, answer]) expect(error).not.toHaveProperty('stack')
  expect(server.faults).toEqual([])
})

test('a stopped server says so, and its address and token are worth nothing', async () => {
  const server = await startTestServer()
  const socket = open(server)
  await once(socket, 'open')
  const closed = once(socket, 'close')
  await server.close()
  expect((await closed)[0]).toBe(1001)
  await expect(server.fetch('/healthz')).rejects.toThrow()
  const again = await startTestServer()
  const old = await fetch(`${again.url}/trpc/system.info`, {
    headers: { authorization: `Bearer ${server.token}` },
  })
  expect(old.status).toBe(401)
})
