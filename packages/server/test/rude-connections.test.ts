import { once } from 'node:events'
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { UPGRADE } from './support/raw-request.ts'
import { startTestServer, type TestServer } from './support/test-server.ts'

const opened: Socket[] = []
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy()
})

/** Connections that never close their side, whatever the other does. */
async function openMany(server: TestServer, count: number, text: string): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => {})
    opened.push(socket)
    return socket
  })
  await Promise.all(sockets.map(socket => once(socket, 'connect')))
  for (const socket of sockets) if (text !== '') socket.write(text)
  return sockets
}

/** Also when it was closed before anybody listened. */
async function closed(socket: Socket): Promise<void> {
  socket.resume()
  const over = new AbortController()
  const { signal } = over
  if (!socket.destroyed && !socket.readableEnded)
    await Promise.race([once(socket, 'end', { signal }), once(socket, 'close', { signal })]).catch(() => {})
  over.abort()
}

/** As the server counts them, without the one that asks. */
async function connections(server: TestServer): Promise<number> {
  const response = await server.fetch('/trpc/system.health', { headers: { connection: 'close' } })
  const { result } = (await response.json()) as { result: { data: { connections: number } } }
  return result.data.connections - 1
}

const upgrade = Object.entries(UPGRADE).map(([name, value]) => `${name}: ${value}\r\n`)

const RUDE: [name: string, text: (host: string) => string, answer: string][] = [
  ['says nothing', () => '', '408'],
  ['stops in a header', host => `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nX: `, '408'],
  ['speaks no HTTP', () => 'hello\r\n\r\n', '400'],
  [
    'has headers without end',
    host => `GET / HTTP/1.1\r\nHost: ${host}\r\nX: ${'x'.repeat(20_000)}\r\n`,
    '431',
  ],
  [
    'wants a socket under another name',
    () => `GET /trpc HTTP/1.1\r\nHost: evil.example\r\n${upgrade.join('')}\r\n`,
    '403',
  ],
  [
    'wants a socket without a token',
    host => `GET /trpc HTTP/1.1\r\nHost: ${host}\r\n${upgrade.join('')}\r\n`,
    '401',
  ],
]

describe('a connection that never closes', () => {
  test.each(RUDE)('and %s is answered, and gone', async (_name, text, answer) => {
    // Short only where it is what ends the connection: on a busy machine it would else be over before the request is read.
    const headersMs = answer === '408' ? 100 : 20_000
    const server = await startTestServer({ limits: { headersMs } })
    const sockets = await openMany(server, 20, text(`127.0.0.1:${server.port}`))
    const answers = await Promise.all(sockets.map(async socket => String((await once(socket, 'data'))[0])))
    expect(new Set(answers.map(head => head.split(' ')[1]))).toEqual(new Set([answer]))
    await expect.poll(() => connections(server)).toBe(0)
    expect(server.faults).toEqual([])
  })

  test('does not keep the server from stopping', async () => {
    const server = await startTestServer()
    const texts = RUDE.map(([, text]) => text(`127.0.0.1:${server.port}`))
    const sockets = await Promise.all(texts.map(text => openMany(server, 5, text)))
    const refused = sockets.at(-1)?.[0] as Socket
    await once(refused, 'data')
    await server.close()
  })
})

test('a sign-in whose secret never comes is cut off', async () => {
  const server = await startTestServer()
  const head = `Host: 127.0.0.1:${server.port}\r\nContent-Type: application/json\r\nContent-Length: 20\r\n`
  const sockets = await openMany(server, 20, `POST /api/sign-in HTTP/1.1\r\n${head}\r\n{`)
  await Promise.all(sockets.map(socket => once(socket.resume(), 'end')))
  await expect.poll(() => connections(server)).toBe(0)
  expect(server.faults).toEqual([])
})

test('1,000 silent connections are closed when their time is over', async () => {
  const server = await startTestServer({ limits: { headersMs: 500 } })
  // No more at once than the system keeps for a server that is busy: it forgets the others.
  const sockets: Socket[] = []
  while (sockets.length < 1000) sockets.push(...(await openMany(server, 100, '')))
  await Promise.all(sockets.map(closed))
  await expect.poll(() => connections(server)).toBe(0)
})

test('2,048 half-written requests, sent again when they are cut off, keep the owner out of nothing', async () => {
  const server = await startTestServer({ limits: { headersMs: 120_000 } })
  // What the owner has open stays open, also when it has been silent for longest.
  const kept = new WebSocket(`${server.url.replace('http', 'ws')}/trpc`, {
    headers: { authorization: `Bearer ${server.token}` },
  })
  await once(kept, 'open')
  let left = 3 * 1024
  const hold = () => {
    if (left === 0) return
    left -= 1
    const socket = connect({ port: server.port, host: '127.0.0.1' })
    opened.push(socket)
    socket.on('error', () => {})
    socket.on('connect', () => socket.write('GET /healthz HTTP/1.1\r\nX: '))
    socket.on('close', hold)
  }
  for (let i = 0; i < 2_048; i += 1) hold()
  const ask = async () =>
    (await server.fetch('/trpc/system.info', { headers: { connection: 'close' } })).status
  await expect.poll(() => left, { timeout: 60_000 }).toBe(0)
  for (let i = 0; i < 15; i += 1) expect(await ask()).toBe(200)
  expect(await connections(server)).toBeLessThanOrEqual(1_025)
  kept.send(JSON.stringify({ id: 1, method: 'query', params: { path: 'system.info' } }))
  expect(JSON.parse(String((await once(kept, 'message'))[0]))).toMatchObject({ id: 1, result: {} })
  kept.terminate()
})

test('a client that leaves in the middle of a request causes no fault', async () => {
  const server = await startTestServer()
  const head = `Host: 127.0.0.1:${server.port}\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/json\r\n`
  for (const path of ['/api/sign-in', '/api/harness/turn', '/trpc/projects.register', '/prompt']) {
    for (const length of ['Content-Length: 100', 'Transfer-Encoding: chunked']) {
      const [socket] = await openMany(server, 1, `POST ${path} HTTP/1.1\r\n${head}${length}\r\n\r\n`)
      socket?.write(length.startsWith('C') ? '{"a":' : '5\r\n{"a":\r\n', () => socket.resetAndDestroy())
    }
  }
  await expect.poll(() => connections(server)).toBe(0)
  expect(server.faults).toEqual([])
})

test('headers beyond those that are looked at are refused, not overlooked', async () => {
  const server = await startTestServer()
  const ours = `Host: 127.0.0.1:${server.port}\r\nAuthorization: Bearer ${server.token}\r\n`
  // Node takes them in portions: which of them it drops depends on how many there are.
  for (const count of [...Array(150).keys()]) {
    const others = Array.from({ length: count }, (_, i) => `X-${i}: x\r\n`).join('')
    const head = `${ours}${others}Origin: http://evil.example\r\n`
    const [call, socket] = await Promise.all([
      openMany(server, 1, `GET /trpc/system.info HTTP/1.1\r\n${head}\r\n`),
      openMany(server, 1, `GET /trpc HTTP/1.1\r\n${upgrade.join('')}${head}\r\n`),
    ])
    for (const [sent] of [call, socket])
      expect(String((await once(sent as Socket, 'data'))[0]), `${count}`).toMatch(/^HTTP\/1\.1 4[03][13] /)
  }
})

describe('pipelined requests whose answers are not read', () => {
  const FILE = 'large.txt'
  async function serveLargeFile(unreadMs: number) {
    const dashboard = mkdtempSync(path.join(tmpdir(), 'chirality-large-'))
    onTestFinished(() => rmSync(dashboard, { recursive: true, force: true }))
    writeFileSync(path.join(dashboard, FILE), 'x'.repeat(32 * 1024 * 1024))
    const server = await startTestServer({ dashboard, limits: { unreadMs } })
    const request = `GET /${FILE} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n\r\n`
    return { server, request }
  }
  const openFiles = () =>
    readdirSync('/proc/self/fd').filter(fd => {
      try {
        return path.basename(readlinkSync(`/proc/self/fd/${fd}`)) === FILE
      } catch {
        return false
      }
    }).length

  test.runIf(process.platform === 'linux')('open one file each, and are cut off', async () => {
    const { server, request } = await serveLargeFile(1_000)
    const sockets = await openMany(server, 5, '')
    for (const socket of sockets) socket.pause().write(request.repeat(100))
    await expect.poll(openFiles, { timeout: 30_000 }).toBe(5)
    expect((await server.fetch('/trpc/system.info')).status).toBe(200)
    expect(openFiles()).toBeLessThanOrEqual(5)
    await expect.poll(openFiles, { timeout: 60_000 }).toBe(0)
  })

  test('are limited in number', async () => {
    const { server, request } = await serveLargeFile(60_000)
    const [socket] = await openMany(server, 1, '')
    socket?.pause().write(request.repeat(1_000))
    await expect.poll(() => connections(server), { timeout: 30_000 }).toBe(0)
  })
})
