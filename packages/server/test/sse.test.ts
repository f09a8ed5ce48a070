import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { turnEvents } from '@chirality/centre'
import { expect, onTestFinished, test, vi } from 'vitest'
import { SendPace } from '../src/http/send-pace.ts'
import { HEARTBEAT_MS, SseStream } from '../src/http/sse.ts'
import { appendEvents, sessionWith, startTestServer } from './support/test-server.ts'

/** More than the buffers of the system hold. */
const UNREAD = { data: 'x'.repeat(16 * 1024 * 1024) }

test('a stream that has ended, and is not read yet, takes nothing more', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const errors: unknown[] = []
  const server = createServer((_request, response) => {
    response.on('error', error => errors.push(error))
    const stream = new SseStream(response)
    stream.send([UNREAD])
    stream.end()
    stream.send([{ data: 'late' }])
    vi.advanceTimersByTime(HEARTBEAT_MS)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const text = await (await fetch(`http://127.0.0.1:${port}`)).text()
  expect(text).toBe(`data: ${JSON.stringify(UNREAD.data)}\n\n`)
  expect(errors).toEqual([])
})

test('a stream sends the events that arrive while the server stops', async () => {
  const server = await startTestServer()
  const { id, log } = await sessionWith(server, 1)
  const response = await server.fetch(`/api/harness/session/${id}/events`)
  const text = response.text()
  const closing = server.close()
  appendEvents(log, 1, 'said while it stops')
  await closing
  expect(await text).toContain('said while it stops')
})

test('the stream of a turn ends with it, however much others say after it', async () => {
  const server = await startTestServer()
  const { id, log } = await sessionWith(server, 0)
  const session = await server.host.session(id)
  log.append({ type: 'turn:end', sessionId: id, reason: 'completed' }, { turnId: 't' })
  await log.flush()
  const talkative: Pick<typeof server.host, 'onStatus'> = {
    onStatus: () => {
      appendEvents(log, 1, 'of the next turn')
      return () => {}
    },
  }
  const pace = new SendPace({ buffered: () => 0, onDrain: () => {}, giveUp: () => {} })
  const turn = { host: talkative, session, turnId: 't', after: 0 }
  const seen: string[] = []
  for await (const batch of turnEvents(turn, { pace, signal: new AbortController().signal }))
    seen.push(...batch.map(({ event }) => event.type))
  expect(seen).toEqual(['turn:end'])
})

test('a comment comes every 30 s, until the stream ends', async () => {
  expect(HEARTBEAT_MS).toBe(30_000)
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const server = await startTestServer()
  const { id } = await sessionWith(server, 0)
  const others = vi.getTimerCount()
  for (const path of [`/api/harness/session/${id}/events`, `/events?session=${id}`]) {
    const response = await server.fetch(path)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    for (let i = 0; i < 2; i += 1) {
      vi.advanceTimersByTime(29_999)
      vi.advanceTimersByTime(1)
      expect(new TextDecoder().decode((await reader.read()).value)).toBe(': heartbeat\n\n')
    }
    await reader.cancel()
  }
  await expect.poll(() => vi.getTimerCount()).toBe(others)
})
