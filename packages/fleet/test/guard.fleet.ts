import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect as dial } from 'node:net'
import { join } from 'node:path'
import { connect as nats, nkeyAuthenticator } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { refreshBroker } from '../src/engine/broker.ts'
import { brokerPid, startBroker } from '../src/engine/broker-process.ts'
import { brokerFolder, newKey } from '../src/engine/fleet-files.ts'
import { Link } from '../src/engine/link.ts'
import { STREAMS, subjects } from '../src/subjects.ts'
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

test('a key that the fleet does not know, and a connection without TLS or without a key, are refused', async () => {
  const { fleet } = await fleetOfTwo()
  await expect(Link.open({ ...fleet.hub, seed: newKey().seed })).rejects.toThrow(
    'does not let this machine in',
  )
  const servers = fleet.hub.url.replace('tls://', '')
  const once = { servers, maxReconnectAttempts: 0, reconnect: false, timeout: 10_000 }
  await expect(nats({ ...once, tls: { ca: fleet.hub.cert } })).rejects.toThrow(/Authorization Violation/)
  // In plain text: the broker speaks first, and says that it wants TLS; whoever goes on without gets nothing.
  const said = await new Promise<string>(resolve => {
    let text = ''
    const socket = dial(portOf(fleet.hub.url), '127.0.0.1', () => {
      socket.write('CONNECT {"verbose":true}\r\nPING\r\nSUB > 1\r\n')
    })
    socket.on('data', data => {
      text += String(data)
    })
    socket.on('error', () => {}).on('close', () => resolve(text))
  })
  expect(said).toContain('"tls_required":true')
  expect(said).not.toMatch(/PONG|\+OK|MSG/)
})

test('a worker writes nothing under another name, and hears nothing of another machine', async () => {
  const { fleet, hub, member } = await fleetOfTwo()
  await joined(fleet, hub, 'victim')
  const raw = await nats({
    servers: member.url.replace('tls://', ''),
    authenticator: nkeyAuthenticator(new TextEncoder().encode(member.seed)),
    tls: { ca: member.cert },
    inboxPrefix: '_INBOX_worker',
  })
  later(() => raw.close())
  const refused: string[] = []
  void (async () => {
    for await (const status of raw.status()) if (status.type === 'error') refused.push(String(status.error))
  })()
  const heard: string[] = []
  const listen = ['>', 'chi.>', 'chi.ev.>', 'chi.rpc.victim', '_INBOX_victim.>', '$JS.>', 'chi.join']
  for (const subject of listen)
    raw.subscribe(subject, {
      callback: (error, message) => void (error === null && heard.push(message.subject)),
    })
  const writes = [
    ...[subjects.events('victim', 's'), subjects.presence('victim'), subjects.session('victim', 's')],
    ...[subjects.calls('victim'), subjects.calls('hub'), '_INBOX_victim.x', subjects.claim('work')],
    ...['CONSUMER.CREATE.CHI_EV', 'STREAM.PURGE.CHI_EV', 'STREAM.DELETE.CHI_EV'].map(
      name => `$JS.API.${name}`,
    ),
    `$JS.API.DIRECT.GET.${STREAMS.events.name}.${subjects.events('victim', 's')}`,
  ]
  for (const subject of writes) raw.publish(subject, BEAT)
  await expect.poll(() => new Set(refused).size).toBeGreaterThanOrEqual(listen.length + writes.length)
  // What the victim and the hub say in the meantime is not for it.
  await hub.publish(subjects.presence('hub'), BEAT)
  await raw.flush()
  expect(heard).toEqual([])
  for (const subject of writes.slice(0, 3))
    expect(
      await hub.last(subject.includes('.ev.') ? 'events' : 'state', subject).catch(() => undefined),
    ).toBe(undefined)
  expect(readFileSync(join(brokerFolder(fleet.home), 'nats.conf'), 'utf8')).not.toContain(member.seed)
})
