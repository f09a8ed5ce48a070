// What is too long for every run: 100,000 broken handshakes and frames each, 1 GB of events against paused sockets, and
// 1,000 kills of a server in its loops. `soak.ts kills` runs only one of them.
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import { startServer } from '../src/index.ts'
import { EventReader } from './support/event-reader.ts'
import { startFloodedServer } from './support/flooded-server.ts'
import { sendJunk } from './support/junk.ts'
import { KillWorld, killAtRandom } from './support/loop-kills.ts'
import { seeded } from './support/random.ts'

const JUNK = 100_000
const FLOOD_BYTES = 1024 ** 3
const READERS = 8
const KILLS = 1_000
const MAX_GROWTH_BYTES = 96 * 1024 ** 2

const PARTS = { junk, flood, kills }
const wanted = process.argv.slice(2)
for (const [name, part] of Object.entries(PARTS))
  if (wanted.length === 0 || wanted.includes(name)) await part()

async function junk(): Promise<void> {
  const faults: unknown[] = []
  const folder = await mkdtemp(path.join(tmpdir(), 'chirality-soak-'))
  await mkdir(path.join(folder, 'project'))
  const server = await startServer({
    harnesses: new HarnessRegistry<SessionHarness>(),
    projects: [path.join(folder, 'project')],
    home: path.join(folder, 'home'),
    port: 0,
    limits: { handshakesPerSecond: 1e6 },
    onFault: error => faults.push(error),
  })
  const seed = Date.now() % 1e9
  const { handshakes, frames } = await sendJunk(server, { handshakes: JUNK, frames: JUNK }, seeded(seed))
  const { status } = await fetch(`${server.url}/healthz`)
  if (status !== 200) throw new Error(`/healthz answers ${status}`)
  await server.close()
  await rm(folder, { recursive: true })
  if (faults.length > 0) throw new Error(`seed ${seed}: ${faults.length} faults`, { cause: faults[0] })
  console.log(
    `${handshakes} broken handshakes, ${frames} broken frames: the server answers as before (seed ${seed})`,
  )
}

async function flood(): Promise<void> {
  const server = await startFloodedServer()
  const { rssBytes: before, lastSeq } = await server.flood(FLOOD_BYTES / 8)
  const input = { sessionId: server.sessionId, lastEventId: String(lastSeq) }
  const readers = Array.from({ length: READERS }, () => new EventReader(server, input, () => {}))
  await Promise.all(readers.map(({ socket }) => once(socket, 'open')))
  for (const { socket } of readers) socket.pause()
  const { rssBytes: after } = await server.flood(FLOOD_BYTES)
  for (const { socket } of readers) socket.terminate()
  await server.close()
  const growth = after - before
  if (growth > MAX_GROWTH_BYTES) throw new Error(`memory grew by ${growth} bytes`)
  console.log(
    `1 GB of events against ${READERS} paused sockets: ${Math.round(growth / 1024 ** 2)} MB more memory`,
  )
}

async function kills(): Promise<void> {
  const world = await KillWorld.open()
  const seed = Date.now() % 1e9
  try {
    const options = { kills: KILLS, random: seeded(seed), parallel: 2 }
    let made = 0
    let loops = 0
    for await (const report of killAtRandom(world, { proved: 16, asking: 2, idle: 2 }, options)) {
      if (report.problems.length > 0) throw new Error(`seed ${seed}: ${report.problems.join('; ')}`)
      made += report.kills
      loops += 1
      console.log(`${made} kills in ${loops} loops: every task ended once (seed ${seed})`)
    }
  } finally {
    await world.close()
  }
}
