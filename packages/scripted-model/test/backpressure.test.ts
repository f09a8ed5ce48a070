import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, test } from 'vitest'
import { toAnswer } from '../src/answer/answer.ts'
import { deliver } from '../src/answer/deliver.ts'
import { messagesApi } from '../src/answer/messages-api.ts'

const FRAME = 'x'.repeat(64 * 1024)
const FRAME_COUNT = 4000

test('a client that does not read holds the server back', async () => {
  let pulled = 0
  const wire = {
    ...messagesApi,
    *frames() {
      for (; pulled < FRAME_COUNT; pulled++) yield { kind: 'delta' as const, sse: FRAME }
    },
  }
  const leaving = new AbortController()
  const server = createServer((_request, response) => {
    response.once('close', () => leaving.abort())
    delivered = deliver(toAnswer('any'), {
      response,
      wire,
      context: { model: 'm', requestId: 'r', id: '1' },
      stream: true,
      signal: leaving.signal,
      stall: () => Promise.resolve(),
    })
    delivered.catch(() => {})
  })
  let delivered: Promise<unknown> | undefined
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.write('GET / HTTP/1.1\r\nhost: loopback\r\n\r\n')
  await once(client, 'readable')
  client.destroy()
  await expect(delivered).rejects.toThrow()
  expect(pulled).toBeLessThan(FRAME_COUNT)

  server.close()
  await once(server, 'close')
})
