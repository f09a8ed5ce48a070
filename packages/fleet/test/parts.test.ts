import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createServer } from 'node:tls'
import { afterAll, describe, expect, test } from 'vitest'
import { stateOf } from '../src/claim/presence.ts'
import { initFleet, invite, revoke } from '../src/engine/broker.ts'
import { brokerPid } from '../src/engine/broker-process.ts'
import { certificateFingerprint, makeCertificate } from '../src/engine/certificate.ts'
import { initCluster } from '../src/engine/cluster.ts'
import {
  brokerConfig,
  formatJoinCode,
  lockMember,
  newKey,
  parseJoinCode,
  readBroker,
  writeBroker,
} from '../src/engine/fleet-files.ts'
import { findNatsServer, isOlder, parseVersion } from '../src/engine/nats-binary.ts'
import { Machines } from '../src/machines.ts'
import { Mirror, type MirrorOptions } from '../src/mirror/mirror.ts'
import { ToldSessions } from '../src/own-sessions.ts'
import { RemoteSessions } from '../src/remote-sessions.ts'
import { logPath } from '../src/ship/shipper.ts'
import { isMachineName, machineNameOf, parseSubject, rightsOf } from '../src/subjects.ts'

const folder = mkdtempSync(join(tmpdir(), 'chirality-fleet-parts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const SESSION = '22222222-2222-4222-8222-222222222222'

describe('nats-server', () => {
  test('is known by its version and refused below the first sound one', () => {
    expect(parseVersion('nats-server: v2.10.27\n')).toEqual([2, 10, 27])
    expect(parseVersion('nothing')).toBeUndefined()
    expect(
      [
        [2, 9, 10],
        [2, 10, 22],
      ].map(version => isOlder(version, [2, 10, 23])),
    ).toEqual([true, true])
    expect(
      [
        [2, 10, 23],
        [2, 11, 0],
        [3, 0, 0],
      ].map(version => isOlder(version, [2, 10, 23])),
    ).toEqual([false, false, false])
  })

  test('is an error with the way out when the named program is missing', async () => {
    const env = { CHIRALITY_NATS_BIN: join(folder, 'missing') }
    await expect(findNatsServer({ home: folder, env, fetch: true })).rejects.toThrow(
      /2\.10\.23.*CHIRALITY_NATS_BIN/,
    )
  })

  test('is refused with its version when it is too old', async () => {
    const old = join(folder, 'old-nats')
    writeFileSync(old, '#!/bin/sh\necho "nats-server: v2.9.10"\n', { mode: 0o755 })
    const env = { CHIRALITY_NATS_BIN: old }
    await expect(findNatsServer({ home: folder, env })).rejects.toThrow(/2\.9\.10 is too old/)
  })
})

test('the certificate of a broker is accepted by exactly those who know it, for its own names', async () => {
  const { cert, key } = makeCertificate(['127.0.0.1', 'broker.example', '::1'])
  const server = createServer({ cert, key }, socket => socket.end('hello')).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  const dial = (ca: string, servername: string) =>
    new Promise<string>(resolve => {
      const socket = connect({ port, host: '127.0.0.1', ca, servername })
      const end = (said: string) => {
        socket.destroy()
        resolve(said)
      }
      socket.once('secureConnect', () => end('accepted')).once('error', ({ message }) => end(message))
    })
  expect(await dial(cert, 'broker.example')).toBe('accepted')
  expect(await dial(cert, 'other.example')).toContain('does not match')
  expect(await dial(makeCertificate(['broker.example']).cert, 'broker.example')).toContain('self-signed')
  expect(certificateFingerprint(cert)).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/)
  await new Promise(resolve => server.close(resolve))
})

describe('names and rights', () => {
  test('a machine name is a part of a subject and of a path', () => {
    expect(['a', 'dev-box-2', 'x'.repeat(40)].every(isMachineName)).toBe(true)
    for (const bad of ['', '-a', 'a-', 'A', 'a.b', 'a/b', '..', '*', '>', 'x'.repeat(41)])
      expect(isMachineName(bad)).toBe(false)
    expect(['Build-Host.example.com', '___', 'ÄÖ', `${'a'.repeat(39)}-x`].map(machineNameOf)).toEqual([
      'build-host',
      'machine',
      'machine',
      'a'.repeat(39),
    ])
  })

  test('a worker writes what is its own and reads no stream', () => {
    const { publish, subscribe } = rightsOf('w1', 'worker')
    expect(publish.filter(subject => subject.startsWith('chi.'))).toEqual(['chi.ev.w1.*', 'chi.state.w1.>'])
    expect(publish.some(subject => subject.includes('CONSUMER'))).toBe(false)
    expect(subscribe).toEqual(['chi.rpc.w1', '_INBOX_w1.>'])
  })

  test('the configuration names each key once, and an invitation can only ask to join', () => {
    const [hub, guest] = [newKey(), newKey()]
    const config = brokerConfig(
      {
        host: '127.0.0.1',
        port: 4222,
        machines: [{ machine: 'hub', role: 'hub', key: hub.key, addedAt: '' }],
        invitations: [{ key: guest.key, role: 'worker', expiresAt: '' }],
      },
      '/data/fleet/broker',
    )
    expect(config).toContain('sync_interval: always')
    expect(config.split(hub.key)).toHaveLength(2)
    const line = config.split('\n').find(text => text.includes(guest.key))
    expect(line).toContain('permissions: { publish: ["chi.join"], subscribe: ["_INBOX_join-.>"] }')
    expect(config).not.toContain(hub.seed)
  })

  test('a join code is read back, and anything else is refused', () => {
    const code = { url: 'tls://127.0.0.1:4222', cert: 'c', seed: 's' }
    expect(parseJoinCode(`${formatJoinCode(code)}\n`)).toEqual(code)
    for (const bad of ['', 'x', 'e30', '💥']) expect(() => parseJoinCode(bad)).toThrow(/no join code/)
  })

  test('a subject of another kind names no session', () => {
    expect(parseSubject(`chi.ev.w.${SESSION}`)).toEqual({ machine: 'w', session: SESSION })
    expect(parseSubject('chi.state.w.presence')).toEqual({ machine: 'w', session: undefined })
    expect(parseSubject('chi.ev.W!.x')).toBeUndefined()
    expect(parseSubject('other')).toBeUndefined()
  })
})

test('a machine is away only if its observer listened all the time', () => {
  const now = 100_000
  expect(stateOf({ heardAt: now - 1_000, connectedSince: 0, now })).toBe('here')
  expect(stateOf({ heardAt: now - 16_000, connectedSince: 0, now })).toBe('away')
  expect(stateOf({ heardAt: now - 16_000, connectedSince: now - 2_000, now })).toBe('unknown')
  expect(stateOf({ heardAt: now - 1_000, connectedSince: undefined, now })).toBe('unknown')
  expect(stateOf({ heardAt: undefined, connectedSince: 0, now })).toBe('away')
})

test('a beat that was stored before this machine listened, or is malformed, makes nobody present', () => {
  const machines = new Machines('hub')
  machines.connected(true)
  const beat = {
    role: 'worker',
    version: '1',
    labels: [],
    slots: 1,
    busy: 0,
    load: 0,
    agents: [],
    projects: [],
  }
  machines.heard('w1', Buffer.from(JSON.stringify(beat)), false)
  machines.heard('w2', Buffer.from('{"role":"king"}'), true)
  machines.heard('../w3', Buffer.from(JSON.stringify(beat)), true)
  expect(machines.list()).toMatchObject([{ machine: 'w1', state: 'unknown' }])
  machines.answered('w1')
  expect(machines.list()).toMatchObject([{ machine: 'w1', state: 'here' }])
})

test('a living process whose command cannot be read, or is another one, is not taken for the broker', async () => {
  const home = join(folder, 'stale')
  mkdirSync(join(home, 'fleet', 'broker'), { recursive: true })
  writeFileSync(join(home, 'fleet', 'broker', 'nats.pid'), String(process.pid))
  expect(await brokerPid(home)).toBeUndefined()
  expect(await brokerPid(home, join(home, 'no-proc'))).toBeUndefined()
})

test('the next server knows the sessions that the hubs were told of', async () => {
  const file = join(folder, 'told.json')
  const told = new ToldSessions(file)
  await told.add('a')
  await told.add('b')
  await told.delete('a')
  expect(new ToldSessions(file).list()).toEqual(['b'])
  writeFileSync(file, '{')
  expect(new ToldSessions(file).list()).toEqual([])
})

test('one process of a user is a machine of the fleet at a time', async () => {
  const home = join(folder, 'member')
  mkdirSync(join(home, 'fleet'), { recursive: true })
  const first = await lockMember(home, 'desk')
  await expect(lockMember(home, 'desk')).rejects.toThrow('is in the fleet as desk already')
  await first.release()
  await (await lockMember(home, 'desk')).release()
})

describe('a mirror', () => {
  const at = (from: number, text: string, seq: number, machine = 'w') => ({
    subject: `chi.ev.${machine}.${SESSION}`,
    seq,
    body: Buffer.from(text),
    headers: { 'Chi-From': String(from) },
  })
  const line = (seq: number, text: string) =>
    `${JSON.stringify({ seq, at: '2026-01-01T00:00:00.000Z', sessionId: SESSION, turnId: null, event: { type: 'status', sessionId: SESSION, status: 'notice', level: 'info', message: text } })}\n`
  const made = (name: string, fetch: MirrorOptions['fetch'] = async () => undefined) => {
    const mirrors = join(folder, name)
    return {
      mirror: new Mirror({ folder: mirrors, fetch }),
      file: logPath(join(mirrors, 'w'), SESSION),
      mirrors,
    }
  }

  test('takes each part once, in any size, and its readers get whole lines', async () => {
    const { mirror, file } = made('parts')
    const text = [line(1, 'one'), line(2, 'ü'.repeat(50)), line(3, 'three')].join('')
    const bytes = Buffer.from(text)
    for (let from = 0, seq = 1; from < bytes.length; from += 37, seq += 1) {
      const part = { ...at(from, '', seq), body: bytes.subarray(from, from + 37) }
      await mirror.take(part)
      if (seq % 3 === 0) await mirror.take(part)
    }
    const log = await mirror.log('w', SESSION)
    expect(log.lastSeq).toBe(3)
    expect(log.readAfter(0, 10).map(({ seq }) => seq)).toEqual([1, 2, 3])
    await log.close()
    await mirror.close()
    expect(readFileSync(file).equals(bytes)).toBe(true)
  })

  test('does not move its cursor past a line that is not whole', async () => {
    const { mirror } = made('cursor')
    await mirror.take(at(0, line(1, 'one'), 7))
    expect(mirror.safeCursor(7)).toBe(7)
    await mirror.take(at(line(1, 'one').length, '{"seq":2', 8))
    expect(mirror.safeCursor(9)).toBe(7)
    await mirror.close()
  })

  test('cuts off half a line that a killed hub left', async () => {
    const first = made('killed')
    await first.mirror.take(at(0, line(1, 'one'), 1))
    await first.mirror.close()
    appendFileSync(first.file, '{"seq":2,"at"')
    const second = new Mirror({ folder: first.mirrors, fetch: async () => undefined })
    await second.take(at(line(1, 'one').length, line(2, 'two'), 2))
    await second.close()
    expect(readFileSync(first.file, 'utf8')).toBe(line(1, 'one') + line(2, 'two'))
  })

  test('fills a hole as soon as its machine is there, without another part, also after a restart', async () => {
    let isHere = false
    const whole = [1, 2, 3].map(seq => line(seq, 'text'))
    const size = whole[0]?.length ?? 0
    const source = Buffer.from(whole.join(''))
    const fetch = async (_machine: string, _session: string, from: number) =>
      isHere ? source.subarray(from) : undefined
    const { mirror, file, mirrors } = made('hole', fetch)
    await mirror.take(at(size * 2, whole[2] ?? '', 3))
    await mirror.fillHoles('w')
    expect(readFileSync(file, 'utf8')).toBe('')
    await mirror.close()
    const restarted = new Mirror({ folder: mirrors, fetch })
    isHere = true
    await restarted.fillHoles('other')
    expect(readFileSync(file, 'utf8')).toBe('')
    await restarted.fillHoles('w')
    expect(readFileSync(file, 'utf8')).toBe(whole.join(''))
    // A filled hole is not asked for again.
    isHere = false
    await restarted.fillHoles('w')
    await restarted.take(at(source.length, line(4, 'next'), 4))
    await restarted.close()
    expect(readFileSync(file, 'utf8')).toBe(whole.join('') + line(4, 'next'))
    expect(readdirSync(join(mirrors, 'w', 'holes'))).toEqual([])
  })

  test('goes on with other logs while a machine that lies about a place is asked, and asks nothing for an absurd one', async () => {
    const asked: number[] = []
    let release: () => void = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    const { mirror, mirrors } = made('lies', async (machine: string, _session: string, from: number) => {
      if (machine !== 'w') return undefined
      asked.push(from)
      if (asked.length > 3) await held
      // There is always more.
      return Buffer.from(line(asked.length, 'more'))
    })
    await mirror.take(at(2 ** 52, line(1, 'far'), 1))
    expect(asked).toEqual([])
    await mirror.take(at(2 ** 31, line(1, 'far'), 2))
    await expect.poll(() => asked.length).toBe(4)
    await mirror.take(at(0, line(1, 'mine'), 3, 'honest'))
    expect(readFileSync(logPath(join(mirrors, 'honest'), SESSION), 'utf8')).toBe(line(1, 'mine'))
    await mirror.close()
    release()
    await held
    expect(asked).toHaveLength(4)
  })

  test('ignores a part without a place, and a session that is no id', async () => {
    const { mirror, mirrors } = made('malformed')
    await mirror.take({ ...at(0, line(1, 'x'), 1), headers: {} })
    await mirror.take({ ...at(0, line(1, 'x'), 1), subject: 'chi.ev.w.$evil' })
    await mirror.take(at(-5, line(1, 'x'), 1))
    expect(() => statSync(join(mirrors, 'w', '.chirality'))).toThrow()
    await mirror.close()
  })
})

test('reports of sessions survive a restart, and a machine cannot take the session of another', () => {
  const states = join(folder, 'states')
  const told = (title: string) =>
    JSON.stringify({
      session: { id: SESSION, projectRoot: '/p', updatedAt: '2026-01-01', title },
      status: null,
    })
  const faults: unknown[] = []
  const remote = new RemoteSessions(states, error => faults.push(error))
  const changed: string[] = []
  remote.onChange(() => {
    throw new Error('shown by nobody')
  })
  remote.onChange(id => changed.push(id))
  remote.take('w', SESSION, told('mine'))
  remote.take('thief', SESSION, told('stolen'))
  remote.take('w', '../x', told('out'))
  remote.take('w', 'other', told('wrong id'))
  remote.take('w', SESSION, 'no json')
  expect(changed).toEqual([SESSION])
  expect(faults.map(String)).toEqual(['Error: shown by nobody'])
  const again = new RemoteSessions(states)
  expect(again.get(SESSION)).toMatchObject({ machine: 'w', session: { title: 'mine' } })
  // A session that a machine says it made for this hub is its own, or nothing.
  const made = (id: string) => ({ id, projectRoot: '/p', updatedAt: '2026-01-01' })
  expect(again.made('w', made(SESSION), false)).toBe(true)
  expect(again.made('thief', made(SESSION), false)).toBe(false)
  expect(again.made('thief', made('of-this-hub'), true)).toBe(false)
  for (const nonsense of [undefined, null, 'text', { id: 7 }, { id: '../x' }, { id: 'half' }])
    expect(again.made('w', nonsense, false)).toBe(false)
  again.take('thief', SESSION, '')
  expect(again.list()).toHaveLength(1)
  again.take('w', SESSION, '')
  expect(new RemoteSessions(states).list()).toEqual([])
})

describe('machines that may connect', () => {
  test('is changed by one at a time: nothing that is stored meanwhile is overwritten', async () => {
    const home = join(folder, 'many')
    await initFleet({ home, machine: 'hub' })
    await Promise.all(Array.from({ length: 5 }, () => invite(home, 'worker')))
    expect((await readBroker(home))?.invitations).toHaveLength(5)
  })

  test('a machine that no broker could be told of is revoked in the file, and shown until one was told', async () => {
    const home = join(folder, 'cluster')
    // Nobody listens there.
    const nodes = [1, 2, 3].map(at => ({ host: `127.0.0.${at}`, port: 1, clusterPort: 2 }))
    await initCluster({ home, machine: 'hub', nodes })
    const broker = await readBroker(home)
    if (broker === undefined) throw new Error('no file')
    const { key } = newKey()
    const worker = { machine: 'worker', role: 'worker' as const, key, addedAt: '' }
    await writeBroker(home, { ...broker, machines: [...broker.machines, worker] })
    await expect(revoke(home, 'worker')).rejects.toThrow('No broker was told')
    const stored = await readBroker(home)
    expect(Object.keys(stored?.cluster?.revoked ?? {})).toEqual([key])
    expect(stored?.machines.map(({ machine }) => machine)).toEqual(['hub', 'worker'])
  })
})
