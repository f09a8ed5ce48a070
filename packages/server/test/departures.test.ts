import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DiscardedSessions, ProjectRegistry } from '@chirality/centre'
import { expect, onTestFinished, test } from 'vitest'
import { SendPace } from '../src/http/send-pace.ts'
import { StaticFiles } from '../src/http/static-files.ts'
import { OpenStreams } from '../src/rest/open-streams.ts'
import type { CallContext } from '../src/trpc/context.ts'
import { appRouter } from '../src/trpc/router.ts'
import { seeded } from './support/random.ts'
import { sessionWith, startTestServer, type TestServer } from './support/test-server.ts'

const DEPARTURES = 160

test('a client that leaves in the middle of an answer causes no fault and leaves no open file', async () => {
  const server = await startTestServer()
  const { id } = await sessionWith(server, 2000)
  const input = encodeURIComponent(JSON.stringify({ sessionId: id }))
  const paths = [
    `/api/harness/session/${id}/events`,
    `/api/harness/session/${id}/export?format=markdown`,
    `/api/harness/session/${id}/export?format=json`,
    `/events?session=${id}&after=0`,
    `/trpc/session.events?input=${input}`,
    `/trpc/fleet.events`,
    `/trpc/sessions.history?input=${input}`,
    `/trpc/sessions.list,system.info?batch=1&input=%7B%7D`,
  ]
  const random = seeded(3)
  const leave = async (path: string) => {
    const socket = connect(server.port, '127.0.0.1')
    socket.on('error', () => {})
    const headers = [`Host: 127.0.0.1:${server.port}`, `Authorization: Bearer ${server.token}`]
    socket.write(`GET ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`)
    let left = Math.floor(random() * 200_000)
    let pause: NodeJS.Timeout | undefined
    await new Promise<void>(resolve => {
      // The server closes a connection whose request comes too late, as on a busy machine: there is nothing to leave.
      socket.on('close', () => resolve())
      socket.on('data', chunk => {
        left -= chunk.length
        clearTimeout(pause)
        // A stream that has nothing more to say is left, too.
        pause = setTimeout(resolve, left < 0 ? 0 : 20)
      })
    })
    socket.resetAndDestroy()
  }
  for (let i = 0; i < DEPARTURES; i += paths.length) await Promise.all(paths.map(leave))
  await expect
    .poll(
      async () => {
        const response = await server.fetch('/trpc/system.health', { headers: { connection: 'close' } })
        const { result } = (await response.json()) as { result: { data: { connections: number } } }
        return result.data.connections
      },
      { timeout: 30_000 },
    )
    .toBe(1)
  expect(server.faults).toEqual([])
})

/** A request whose sender is gone before anything was answered. */
async function abandoned(): Promise<{ request: IncomingMessage; response: ServerResponse }> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const [request, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
  socket.resetAndDestroy()
  await once(response, 'close')
  return { request, response }
}

test('a stream is not opened for one who has left: nothing would ever close it', async () => {
  const { response } = await abandoned()
  const streams = new OpenStreams()
  expect(() => streams.open(response)).toThrow(expect.objectContaining({ code: 'ECONNRESET' }))
  // It would wait for those that are open.
  await streams.close()
})

test('a file is not kept open for one who has left', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'chirality-files-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(path.join(folder, 'index.html'), 'x'.repeat(1_000_000))
  const files = new StaticFiles(folder)
  const { request, response } = await abandoned()
  await files.serve(request, response, '/')
  const before = readdirSync('/dev/fd').length
  for (let i = 0; i < 20; i += 1) await files.serve(request, response, '/')
  expect(readdirSync('/dev/fd').length).toBeLessThan(before + 10)
})

/** Streams one behind the other on one connection: only the first of them is being sent. */
function openStreams({ port, token }: TestServer, sessionId: string, count: number): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  const headers = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}`
  const request = `GET /api/harness/session/${sessionId}/events HTTP/1.1\r\n${headers}\r\n\r\n`
  socket.write(request.repeat(count))
  return socket
}

test('streams go with their connection, and without room no turn begins', async () => {
  const server = await startTestServer()
  const { id } = await sessionWith(server, 1)
  // There is no agent that could do it: with room for its stream, that is what is said.
  const turn = async () => {
    const response = await server.post('/api/harness/turn', { sessionId: id, message: 'Hi' })
    return ((await response.json()) as { error: { code: string } }).error.code
  }
  expect(await turn()).toBe('not_installed')
  // One on each: a stream that waits behind another takes no room.
  const sockets = Array.from({ length: MAX_STREAMS }, () => openStreams(server, id, 1))
  await expect.poll(turn, { timeout: 30_000 }).toBe('too-many')
  expect((await server.fetch(`/api/harness/session/${id}/events`)).status).toBe(503)
  expect((await server.host.session(id)).status).toMatchObject({ phase: 'idle', turnId: null })
  for (const socket of sockets) socket.resetAndDestroy()
  await expect.poll(turn, { timeout: 30_000 }).toBe('not_installed')
  expect(server.faults).toEqual([])
})

const MAX_STREAMS = 256

test.each(['a socket', 'HTTP'])(
  'events of a session are not waited for with one who has left %s',
  async where => {
    const server = await startTestServer()
    const { id: sessionId, log } = await sessionWith(server, 3)
    const gone = AbortSignal.abort()
    const pace = new SendPace({ buffered: () => 0, onDrain: () => {}, giveUp: () => {} })
    const projects = new ProjectRegistry(server.home)
    const discarded = new DiscardedSessions({ home: server.home, deleteForGood: async () => {} })
    const centre = { host: server.host, projects, discarded } as unknown as CallContext['centre']
    const context: CallContext = { centre, caller: { pace, takesJson: where === 'a socket' } }
    const caller = appRouter.createCaller(context, { signal: gone })
    const events = await caller.session.events({ sessionId, lastEventId: String(log.lastSeq) })
    expect(await events[Symbol.asyncIterator]().next()).toMatchObject({ done: true })
  },
)
