import { expect, test } from 'vitest'
import { seeded, sendJunk } from './support/junk.ts'
import { startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'

/** Half of them send four frames each. */
const CONNECTIONS = 4000
const AT_ONCE = 32

test('10,000 broken requests, handshakes and frames: the server answers as before', async () => {
  const server = await startTestServer({ limits: { handshakesPerSecond: 100_000 } })
  const random = seeded(11)
  let left = CONNECTIONS
  const worker = async () => {
    while (left > 0) {
      left -= 1
      await sendJunk(server, random)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  const { client } = connect(server)
  expect(await client.system.info.query()).toMatchObject({ pid: process.pid })
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  expect(server.faults).toEqual([])
})
