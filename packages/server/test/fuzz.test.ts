import { expect, test } from 'vitest'
import { sendJunk } from './support/junk.ts'
import { seeded } from './support/random.ts'
import { startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'

test('10,000 broken handshakes and 10,000 broken frames: the server answers as before', {
  timeout: 300_000,
}, async () => {
  const server = await startTestServer({ limits: { handshakesPerSecond: 100_000 } })
  const sent = await sendJunk(server, { handshakes: 10_000, frames: 10_000 }, seeded(11))
  expect(sent.handshakes).toBe(10_000)
  expect(sent.frames).toBeGreaterThanOrEqual(10_000)
  const { client } = connect(server)
  expect(await client.system.info.query()).toMatchObject({ pid: process.pid })
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  expect(server.faults).toEqual([])
})
