import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { EventReader } from './support/event-reader.ts'
import { startFloodedServer } from './support/flooded-server.ts'

const MB = 1024 * 1024

test('paused sockets cost no memory, and miss nothing', async () => {
  const server = await startFloodedServer()
  onTestFinished(server.close)
  // The same once without readers: what the log itself costs is not counted.
  const { rssBytes: before, lastSeq: start } = await server.flood(FLOOD_BYTES)
  let cursor = start
  let finish = () => {}
  const finished = new Promise<void>(resolve => {
    finish = resolve
  })
  let lastSeq = Number.POSITIVE_INFINITY
  const readers = [...Array(READERS).keys()].map(
    index =>
      new EventReader(server, { sessionId: server.sessionId, lastEventId: String(start) }, batch => {
        if (index > 0) return
        for (const { seq } of batch) {
          expect(seq).toBe(cursor + 1)
          cursor = seq
        }
        if (cursor >= lastSeq) finish()
      }),
  )
  onTestFinished(() => {
    for (const { socket } of readers) socket.terminate()
  })
  await Promise.all(readers.map(({ socket }) => once(socket, 'open')))
  for (const { socket } of readers) socket.pause()
  const after = await server.flood(FLOOD_BYTES)
  // Without backpressure it would be all of the flood for each of them; what the collector has not freed yet counts, too.
  expect(after.rssBytes - before).toBeLessThan(2 * FLOOD_BYTES)
  lastSeq = after.lastSeq
  readers[0]?.socket.resume()
  await finished
  expect(cursor).toBe(lastSeq)
})

const READERS = 8
const FLOOD_BYTES = 64 * MB

test('a client that reads nothing for too long is closed, and goes on where it stopped', async () => {
  const server = await startFloodedServer(200)
  onTestFinished(server.close)
  let cursor = 0
  const take = (batch: { seq: number }[]) => {
    for (const { seq } of batch) {
      expect(seq).toBe(cursor + 1)
      cursor = seq
    }
  }
  const reader = new EventReader(server, { sessionId: server.sessionId }, take)
  await once(reader.socket, 'open')
  reader.socket.pause()
  // More than the buffers of the system hold.
  const { lastSeq } = await server.flood(32 * MB)
  await expect.poll(() => socketsOf(server)).toBe(0)
  reader.socket.resume()
  await reader.closed()
  expect(cursor).toBeLessThan(lastSeq)
  // On a busy machine it may be too slow once more: then it goes on from there again.
  while (cursor < lastSeq) {
    const again = new EventReader(
      server,
      { sessionId: server.sessionId, lastEventId: String(cursor) },
      batch => {
        take(batch)
        if (cursor === lastSeq) again.socket.terminate()
      },
    )
    await again.closed()
  }
  expect(cursor).toBe(lastSeq)
})

async function socketsOf({ url, token }: { url: string; token: string }): Promise<number> {
  const response = await fetch(`${url}/trpc/system.health`, { headers: { authorization: `Bearer ${token}` } })
  const { result } = (await response.json()) as { result: { data: { sockets: number } } }
  return result.data.sockets
}
