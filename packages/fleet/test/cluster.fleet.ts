import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect as dial } from 'node:tls'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import { SessionHost } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { revoke } from '../src/engine/broker.ts'
import { makeCertificate } from '../src/engine/certificate.ts'
import { parseNodes } from '../src/engine/cluster.ts'
import { brokerFolder, type Member } from '../src/engine/fleet-files.ts'
import { Link } from '../src/engine/link.ts'
import { FleetMember } from '../src/fleet-member.ts'
import { Mirror } from '../src/mirror/mirror.ts'
import { pingMachine } from '../src/rpc/calls.ts'
import { logPath, Shipper } from '../src/ship/shipper.ts'
import { subjects } from '../src/subjects.ts'
import { startCluster } from './support/cluster.ts'
import { connect, folder, joined, later, openSessions, say, sessionLog } from './support/fleet.ts'

const SESSION = '11111111-1111-4111-8111-111111111111'

const REFUSED = 'Authorization Violation'

const isStored = (link: Link) =>
  link.publish(subjects.presence('hub'), Buffer.from('{}')).then(
    ({ kind }) => kind === 'stored',
    () => false,
  )

const isPrepared = (link: Link) =>
  link.prepare().then(
    () => true,
    () => false,
  )

/** First message of a broker to a machine. */
function letsIn(member: Member, at: number): Promise<string> {
  return Link.open({ ...member, url: member.url.split(',')[at] ?? '' }).then(
    async link => {
      await link.close()
      return 'let in'
    },
    (error: Error) => error.message,
  )
}

/** First message of a broker to a program that dials it like another broker. */
function asBroker(
  port: number,
  certificate: { cert: string | undefined; key: string | undefined },
): Promise<string> {
  return new Promise(resolve => {
    const socket = dial({ port, host: '127.0.0.1', rejectUnauthorized: false, ...certificate })
    socket.once('error', error => resolve(error.message)).once('close', () => resolve('closed'))
    socket.once('data', said => {
      resolve(said.toString())
      socket.destroy()
    })
  })
}

async function clusterOfTwo() {
  const cluster = await startCluster()
  const hub = await connect(cluster.hub)
  await expect.poll(() => isPrepared(hub)).toBe(true)
  const { member } = await joined(cluster, hub)
  const worker = await connect(member)
  const project = folder()
  const shipper = new Shipper({
    link: worker,
    machine: 'worker',
    projects: () => [project],
    sessions: openSessions(),
  })
  later(() => shipper.close())
  const mirrors = folder()
  const logs = new Mirror({ folder: mirrors, fetch: async () => undefined })
  const follower = hub.follow('events', 1, message => logs.take(message))
  later(async () => {
    await follower.close()
    await logs.close()
  })
  const log = await sessionLog(project, SESSION)
  const read = (file: string) => (existsSync(file) ? readFileSync(file, 'latin1') : '')
  const source = logPath(project, SESSION)
  const mirrored = logPath(join(mirrors, 'worker'), SESSION)
  return {
    cluster,
    hub,
    worker,
    member,
    say: async (text: string) => {
      say(log, text)
      await log.flush()
    },
    isMirrored: () => read(source) !== '' && read(mirrored) === read(source),
    mirrored: () => read(mirrored),
  }
}

test('three brokers: without one all goes on, without two nothing is stored and that is said, and what was lost with all disks is shipped again', async () => {
  const fleet = await clusterOfTwo()
  const { cluster, hub, worker } = fleet
  await fleet.say('with three')
  await expect.poll(fleet.isMirrored).toBe(true)

  for (const node of [0, 1, 2]) {
    await cluster.kill(node)
    await fleet.say(`without ${node}`)
    await expect.poll(fleet.isMirrored).toBe(true)
    cluster.start(node)
    // It has to be one of three again before the next one goes.
    await expect.poll(async () => ((await isStored(hub)) ? hub.currentReplicas().catch(() => 0) : 0)).toBe(3)
  }

  await cluster.kill(0)
  await cluster.kill(1)
  await fleet.say('without two')
  await expect.poll(() => [hub.connected, worker.connected]).toEqual([true, true])
  await expect(hub.publish(subjects.presence('hub'), Buffer.from('{}'))).rejects.toThrow()
  expect(hub.fault).toBeTypeOf('string')
  expect(fleet.mirrored()).not.toContain('without two')
  // Messages between machines need no store.
  later(worker.serve(subjects.calls('worker'), async body => body))
  const hello = () => hub.request(subjects.calls('worker'), Buffer.from('hello'), 5_000)
  await expect
    .poll(() =>
      hello().then(
        ({ kind }) => kind,
        () => 'cut',
      ),
    )
    .toBe('answer')
  cluster.start(0)
  cluster.start(1)
  await expect.poll(fleet.isMirrored).toBe(true)
  expect(fleet.mirrored()).toContain('without two')
  await expect.poll(() => isStored(hub)).toBe(true)
  expect(hub.fault).toBeUndefined()

  for (const node of [0, 1, 2]) {
    await cluster.kill(node)
    cluster.loseDisk(node)
  }
  await fleet.say('without any')
  for (const node of [0, 1, 2]) cluster.start(node)
  // A hub does so when it is connected again, and whenever nothing can be stored.
  await expect.poll(() => isPrepared(hub)).toBe(true)
  await expect.poll(fleet.isMirrored).toBe(true)
  expect(await worker.last('events', subjects.events('worker', SESSION))).toBeDefined()
})

test('a machine that is revoked in a cluster is cut off by every broker, also by one that was away', async () => {
  const { cluster, hub, member, worker } = await clusterOfTwo()
  await joined(cluster, hub, 'other')
  await cluster.kill(2)
  await revoke(cluster.home, 'worker')
  await expect.poll(() => worker.connected).toBe(false)
  cluster.start(2)
  for (const at of [0, 1, 2]) await expect.poll(() => letsIn(member, at)).toContain(REFUSED)
  await expect(revoke(cluster.home, 'worker')).rejects.toThrow(/has a key/)
  await expect(revoke(cluster.home, 'hub')).rejects.toThrow(/lets the others in/)
})

test('a hub that starts while two of three brokers are away says so and answers; when all of them lost their disks it tells them who is revoked', async () => {
  const { cluster, hub, member } = await clusterOfTwo()
  await revoke(cluster.home, 'worker')
  await cluster.kill(0)
  await cluster.kill(1)
  const host = new SessionHost({
    harnesses: new HarnessRegistry<SessionHarness>(),
    address: '',
    home: folder(),
  })
  later(() => host.close())
  const server = await FleetMember.open({ home: cluster.home })
  later(() => server.close())
  server.start({
    host,
    version: '1',
    agents: async () => [],
    repositories: async () => [],
    answer: async () => null,
    onRemoved: () => () => {},
    left: () => {},
    isDiscarded: () => false,
    toldByWork: () => undefined,
    spent: async () => [],
  })
  await expect.poll(() => server.info().readOnly).toBeTypeOf('string')
  await expect.poll(() => pingMachine(hub, 'hub').catch(() => false)).toBe(true)

  await cluster.kill(2)
  for (const node of [0, 1, 2]) cluster.loseDisk(node)
  for (const node of [0, 1, 2]) cluster.start(node)
  for (const at of [0, 1, 2]) await expect.poll(() => letsIn(member, at)).toContain(REFUSED)
  await expect.poll(() => [server.connected, server.info().readOnly]).toEqual([true, null])
})

test('a machine of a cluster writes nothing of another one, and a broker without the fleet’s certificate is no part of it', async () => {
  const { cluster, worker, member } = await clusterOfTwo()
  const own = join(brokerFolder(cluster.home), 'node-1')
  const [cert, key] = ['cert.pem', 'key.pem'].map(name => readFileSync(join(own, name), 'utf8'))
  const [port = 0] = cluster.clusterPorts
  expect(await asBroker(port, { cert, key })).toContain('INFO')
  expect(await asBroker(port, makeCertificate(['127.0.0.1']))).toMatch(/alert|reset|closed/i)
  for (const subject of [subjects.presence('hub'), subjects.claim('work'), subjects.events('hub', 's')])
    await expect(worker.publish(subject, Buffer.from('{}'))).rejects.toThrow()
  await expect(Link.open({ ...member, jwt: undefined })).rejects.toThrow('does not let this machine in')
})

test('the addresses of a cluster are three different ones', () => {
  expect(parseNodes('a.example, b.example:4300,[2001:db8::3]')).toEqual([
    { host: 'a.example', port: 4222, clusterPort: 6222 },
    { host: 'b.example', port: 4300, clusterPort: 6300 },
    { host: '2001:db8::3', port: 4222, clusterPort: 6222 },
  ])
  for (const bad of [
    'a',
    'a,b',
    'a,a,b',
    'a,b,c,d',
    'a,b,',
    'a,b,c:70000',
    'a b,c,d',
    'a,b,c"\n',
    'a,b,999.1.1.1',
    'a,b,-c',
  ])
    expect(() => parseNodes(bad)).toThrow(/--nodes a,b,c|no address|no host/)
})
