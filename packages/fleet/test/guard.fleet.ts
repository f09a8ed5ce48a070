import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { connect as dial, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as dialTls } from 'node:tls'
import { jwtAuthenticator, connect as nats, nkeyAuthenticator } from '@nats-io/transport-node'
import { describe, expect, test } from 'vitest'
import { refreshBroker } from '../src/engine/broker.ts'
import { brokerPid, startBroker } from '../src/engine/broker-process.ts'
import { makeCertificate } from '../src/engine/certificate.ts'
import { machineCredential, newClusterKeys } from '../src/engine/credentials.ts'
import { brokerFolder, type Member, newKey } from '../src/engine/fleet-files.ts'
import { Link } from '../src/engine/link.ts'
import { STREAMS, subjects } from '../src/subjects.ts'
import { startCluster } from './support/cluster.ts'
import { connect, joined, later, startFleet } from './support/fleet.ts'
import { natsBinary, whenItWorks } from './support/nats.ts'
import { portOf, proxy } from './support/proxy.ts'

const BEAT = Buffer.from('{}')

async function fleetOfTwo() {
  const fleet = await startFleet()
  const hub = await connect(fleet.hub)
  await hub.prepare()
  const { member } = await joined(fleet, hub)
  return { fleet, hub, member }
}

test('a beat that was stored before a hub listened, or while it was cut off, is not a live one', async () => {
  const { fleet, member } = await fleetOfTwo()
  const worker = await connect(member)
  const between = await proxy(portOf(fleet.hub.url))
  const hub = await connect({ ...fleet.hub, url: `tls://127.0.0.1:${between.port}` })
  const heard: [body: string, isLive: boolean][] = []
  const beat = (name: string) => worker.publish(subjects.presence('worker'), Buffer.from(name))
  await beat('before')
  const follower = hub.follow('state', 'last-of-each', async ({ body }, isLive) => {
    heard.push([Buffer.from(body).toString(), isLive])
  })
  later(() => follower.close())
  await expect.poll(() => heard).toEqual([['before', false]])
  await beat('now')
  await expect.poll(() => heard.at(-1)).toEqual(['now', true])
  between.cut()
  await expect.poll(() => hub.connected).toBe(false)
  await beat('missed')
  between.mend()
  await expect.poll(() => heard.at(-1)).toEqual(['missed', false])
  await expect
    .poll(async () => {
      await beat('again')
      return heard.at(-1)
    })
    .toEqual(['again', true])
})

test('a broker that a killed server left is started again when it ends', async () => {
  const { fleet } = await fleetOfTwo()
  const binary = await natsBinary()
  await fleet.stop()
  const left = spawn(binary, ['-c', join(brokerFolder(fleet.home), 'nats.conf')], { stdio: 'ignore' })
  later(() => left.kill('SIGKILL'))
  await expect.poll(() => brokerPid(fleet.home)).toBe(left.pid)
  expect(await brokerPid(fleet.home, '/no-proc')).toBe(left.pid)
  await whenItWorks(async () => (await Link.open(fleet.hub)).close())
  const adopted = await startBroker(fleet.home, await refreshBroker(fleet.home), { binary })
  later(() => adopted.stop())
  left.kill('SIGKILL')
  await expect.poll(() => brokerPid(fleet.home)).not.toBe(left.pid)
  await whenItWorks(async () => (await Link.open(fleet.hub)).close())
  await adopted.stop()
  expect(await brokerPid(fleet.home)).toBeUndefined()
})

const KINDS = {
  'one broker': async () => ({ ...(await startFleet()), clusterPorts: [] }),
  'three brokers': startCluster,
} as const

/** The broker speaks first. All that it says, until it ends the connection. */
function saidTo(port: number, words: string, tls?: { cert?: string; key?: string }): Promise<string> {
  return new Promise(resolve => {
    let text = ''
    const place = { port, host: '127.0.0.1' }
    const greet = () => void socket.write(words)
    const socket: Socket =
      tls === undefined ? dial(place, greet) : dialTls({ ...place, ...tls, rejectUnauthorized: false }, greet)
    socket.on('data', data => {
      text += String(data)
    })
    socket.on('error', () => {}).on('close', () => resolve(text))
  })
}

/** Connects like a program that listens to everything. */
const LISTENS = 'CONNECT {"verbose":true}\r\nPING\r\nSUB > 1\r\n'

const brokersOf = ({ url }: Member) => url.split(',')

const raw = (member: Member) => {
  const seed = new TextEncoder().encode(member.seed)
  return {
    servers: brokersOf(member).map(url => url.replace('tls://', '')),
    authenticator: member.jwt === undefined ? nkeyAuthenticator(seed) : jwtAuthenticator(member.jwt, seed),
    tls: { ca: member.cert },
    ignoreClusterUpdates: true,
  }
}

describe.each(Object.entries(KINDS))('%s', (_, begin) => {
  async function withWorker() {
    const fleet = await begin()
    const hub = await connect(fleet.hub)
    await whenItWorks(() => hub.prepare())
    const { member } = await joined(fleet, hub)
    return { fleet, hub, member }
  }

  test('refuses a key that the fleet does not know, and a connection without TLS or without a key', async () => {
    const { fleet } = await withWorker()
    const stranger = newKey()
    for (const url of brokersOf(fleet.hub)) {
      await expect(Link.open({ ...fleet.hub, url, seed: stranger.seed })).rejects.toThrow(
        'does not let this machine in',
      )
      if (fleet.hub.jwt !== undefined) {
        // Signed, but by another fleet.
        const jwt = machineCredential(newClusterKeys(), stranger.key, 'hub', 'hub')
        await expect(Link.open({ ...fleet.hub, url, seed: stranger.seed, jwt })).rejects.toThrow(
          'does not let this machine in',
        )
      }
      const once = { servers: url.replace('tls://', ''), reconnect: false, timeout: 10_000 }
      await expect(nats({ ...once, tls: { ca: fleet.hub.cert } })).rejects.toThrow(/Authorization Violation/)
      // In plain text: the broker says that it wants TLS; whoever goes on without gets nothing.
      const said = await saidTo(portOf(url), LISTENS)
      expect(said).toContain('"tls_required":true')
      expect(said).not.toMatch(/PONG|\+OK|MSG/)
    }
  })

  test('lets no stranger be one of its brokers', async () => {
    const { fleet } = await withWorker()
    // Greets like a broker: it names itself and asks for everything that the others hear.
    const greets = `CONNECT ${JSON.stringify({ verbose: false, pedantic: false, tls_required: true, name: 'stranger', cluster: 'chirality' })}\r\nINFO {"server_id":"stranger","cluster":"chirality"}\r\nRS+ $G >\r\nPING\r\n`
    for (const port of fleet.clusterPorts) {
      const certificates = [undefined, {}, makeCertificate(['127.0.0.1'])]
      const said = await Promise.all(certificates.map(certificate => saidTo(port, greets, certificate)))
      expect(said).toEqual(['', '', ''])
    }
    // One broker alone has no port for others.
    if (fleet.clusterPorts.length === 0)
      expect(readFileSync(join(brokerFolder(fleet.home), 'nats.conf'), 'utf8')).not.toContain('cluster')
  })

  test('lets a worker write nothing under another name, and hear nothing of another machine', async () => {
    const { fleet, hub, member } = await withWorker()
    await joined(fleet, hub, 'victim')
    for (const url of brokersOf(member)) {
      const worker = await nats({ ...raw({ ...member, url }), inboxPrefix: '_INBOX_worker' })
      later(() => worker.close())
      const refused: string[] = []
      void (async () => {
        for await (const status of worker.status())
          if (status.type === 'error') refused.push(String(status.error))
      })()
      const heard: string[] = []
      const listen = [
        '>',
        'chi.>',
        'chi.ev.>',
        'chi.rpc.victim',
        '_INBOX_victim.>',
        '$JS.>',
        'chi.join',
        '$SYS.>',
      ]
      for (const subject of listen)
        worker.subscribe(subject, {
          callback: (error, message) => void (error === null && heard.push(message.subject)),
        })
      const writes = [
        ...[subjects.events('victim', 's'), subjects.presence('victim'), subjects.session('victim', 's')],
        ...[subjects.calls('victim'), subjects.calls('hub'), '_INBOX_victim.x', subjects.claim('work')],
        ...['CONSUMER.CREATE.CHI_EV', 'STREAM.PURGE.CHI_EV', 'STREAM.DELETE.CHI_EV'].map(
          name => `$JS.API.${name}`,
        ),
        `$JS.API.DIRECT.GET.${STREAMS.events.name}.${subjects.events('victim', 's')}`,
        '$SYS.REQ.CLAIMS.UPDATE',
      ]
      for (const subject of writes) worker.publish(subject, BEAT)
      await expect.poll(() => new Set(refused).size).toBeGreaterThanOrEqual(listen.length + writes.length)
      // Messages between the victim and the hub must not reach it meanwhile.
      await hub.publish(subjects.presence('hub'), BEAT)
      await worker.flush()
      expect(heard).toEqual([])
      for (const subject of writes.slice(0, 3))
        expect(
          await hub.last(subject.includes('.ev.') ? 'events' : 'state', subject).catch(() => undefined),
        ).toBe(undefined)
    }
    for (const file of configurations(fleet.home))
      expect(readFileSync(file, 'utf8')).not.toContain(member.seed)
  })
})

function configurations(home: string): string[] {
  const files = readdirSync(brokerFolder(home), { recursive: true, encoding: 'utf8' })
  const found = files.filter(name => name.endsWith('nats.conf')).map(name => join(brokerFolder(home), name))
  expect(found).not.toEqual([])
  return found
}
