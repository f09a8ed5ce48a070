import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { seeded } from './support/random.ts'
import { sessionWith, startTestServer } from './support/test-server.ts'

const DEPARTURES = 160

test('whoever leaves in the middle of an answer is no fault of ours, and holds nothing', async () => {
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
    .poll(async () => {
      const response = await server.fetch('/trpc/system.health', { headers: { connection: 'close' } })
      const { result } = (await response.json()) as { result: { data: { connections: number } } }
      return result.data.connections
    })
    .toBe(1)
  expect(server.faults).toEqual([])
})
