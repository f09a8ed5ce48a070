import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer as listen } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import { SessionHost } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { answerJoins, initFleet, invite, joinFleet, refreshBroker, revoke } from '../src/engine/broker.ts'
import { brokerPid, reloadBroker, startBroker } from '../src/engine/broker-process.ts'
import { makeCertificate } from '../src/engine/certificate.ts'
import {
  brokerFolder,
  type Member,
  newKey,
  publicKeyOf,
  readBroker,
  readMember,
  requireBroker,
  writeBroker,
} from '../src/engine/fleet-files.ts'
import { leaveFleet } from '../src/engine/leave.ts'
import { Link } from '../src/engine/link.ts'
import { findNatsServer, installNatsServer } from '../src/engine/nats-binary.ts'
import { CopyChoice } from '../src/move/copy-choice.ts'
import { subjects } from '../src/subjects.ts'
import { connect, folder, joined, later, startFleet } from './support/fleet.ts'
import { freePort, natsBinary } from './support/nats.ts'

const sumOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

async function startIn(home: string, onNews?: (text: string) => void) {
  const broker = await startBroker(home, await refreshBroker(home), { binary: await natsBinary(), onNews })
  later(() => broker.stop())
  return broker
}

test('a broker that cannot start says why, and what to do', async () => {
  const home = folder()
  const port = await freePort()
  await initFleet({ home, machine: 'hub', port })
  // One that greets nobody, so that only the broker itself sees it.
  const other = listen().listen(port, '127.0.0.1')
  await expect(startIn(home)).rejects.toThrow(`Another program listens on 127.0.0.1:${port}. Stop it`)
  await new Promise(resolve => other.close(resolve))
  const store = join(brokerFolder(home), 'store')
  rmSync(store, { recursive: true, force: true })
  writeFileSync(store, 'in the way')
  await expect(startIn(home)).rejects.toThrow(/cannot write to .*broker: .*Make the folder/)
  rmSync(store)
  await startIn(home)

  const elsewhere = folder()
  await initFleet({ home: elsewhere, machine: 'hub', host: '192.0.2.77', port })
  await expect(startIn(elsewhere)).rejects.toThrow('192.0.2.77 is no address of this machine now')
})

test('a broker that is killed is started again, and that is said', async () => {
  const home = folder()
  await initFleet({ home, machine: 'hub', port: await freePort() })
  const news: string[] = []
  await startIn(home, text => news.push(text))
  const first = await brokerPid(home)
  process.kill(first ?? 0, 'SIGKILL')
  await expect.poll(() => brokerPid(home)).not.toBe(first)
  await expect.poll(() => brokerPid(home)).toBeTypeOf('number')
  expect(news).toEqual([expect.stringMatching(/ended by SIGKILL.* It is started again\./)])
})

test('a broker that a killed server left, or that was not told, reads its keys again', async () => {
  const home = folder()
  const { machine: _, ...hub } = await initFleet({ home, machine: 'hub', port: await freePort() })
  const left = spawn(await natsBinary(), ['-c', join(brokerFolder(home), 'nats.conf')], { stdio: 'ignore' })
  later(() => left.kill('SIGKILL'))
  await expect.poll(() => brokerPid(home)).toBe(left.pid)
  // A key is let in or not, by what is in the file, without a signal from whoever wrote it.
  const add = async (machine: string) => {
    const { seed, key } = newKey()
    const broker = await requireBroker(home)
    const added = { machine, role: 'worker', key, addedAt: new Date().toISOString() } as const
    await writeBroker(home, { ...broker, machines: [...broker.machines, added] })
    return { ...hub, machine, seed, role: 'worker' } as const
  }
  const opened = (member: Member) =>
    Link.open(member).then(
      link => link.close().then(() => 'in'),
      () => 'out',
    )
  const early = await add('early')
  await startIn(home)
  expect(await brokerPid(home)).toBe(left.pid)
  await expect.poll(() => opened(early)).toBe('in')
  const late = await add('late')
  await expect.poll(() => opened(late)).toBe('in')
})

test('a broker is told once of each configuration, by whoever is first', async () => {
  const { home } = await startFleet()
  const read = () =>
    readFileSync(join(brokerFolder(home), 'nats.log'), 'utf8').match(/Reloaded server configuration/g)
      ?.length ?? 0
  for (const told of [1, 2, 3]) {
    await refreshBroker(home)
    for (let times = 0; times < 3; times += 1) expect(await reloadBroker(home)).toBe(true)
    await expect.poll(read).toBeGreaterThanOrEqual(told)
    expect(read()).toBe(told)
  }
})

test('a machine that is not let in hears why: a foreign key, another certificate, a wrong clock, nobody there', async () => {
  const fleet = await startFleet()
  const { hub, home } = fleet
  await expect(Link.open({ ...hub, seed: newKey().seed })).rejects.toThrow(
    /does not let this machine in: .*Its rights were taken away.*fleet leave/,
  )
  await expect(Link.open({ ...hub, cert: makeCertificate(['127.0.0.1']).cert })).rejects.toThrow(
    /does not have the certificate of this fleet.*Compare the fingerprints/,
  )
  await expect(Link.open({ ...hub, url: 'tls://127.0.0.1:1' })).rejects.toThrow(
    /cannot be reached: .*Start `chirality serve --fleet`/,
  )
  for (const [years, hint] of [
    [-11, /holds from .* to .*, and this machine's clock says .*make the fleet anew/],
    [1, /holds from .* and this machine's clock says .* Set the clock\.$/],
  ] as const) {
    await fleet.stop()
    const made = makeCertificate(['127.0.0.1'], undefined, new Date(Date.now() + years * 365 * 86_400_000))
    writeFileSync(join(brokerFolder(home), 'cert.pem'), made.cert)
    writeFileSync(join(brokerFolder(home), 'key.pem'), made.key)
    await fleet.restart()
    await expect(Link.open({ ...hub, cert: made.cert })).rejects.toThrow(hint)
  }
})

test('a code that was used or is no code says what to do, and a host that is none is refused before anything is written', async () => {
  const fleet = await startFleet()
  const link = await connect(fleet.hub)
  const { code } = await invite(fleet.home, 'worker')
  const stored = await readBroker(fleet.home)
  expect(stored?.invitations).toHaveLength(1)
  await joined(fleet, link)
  // Looks like a code that another machine used.
  const { code: used } = await invite(fleet.home, 'worker')
  const broker = await readBroker(fleet.home)
  if (broker !== undefined) await writeBroker(fleet.home, { ...broker, invitations: [] })
  process.kill((await brokerPid(fleet.home)) ?? 0, 'SIGHUP')
  const join = (text: string) =>
    joinFleet({ home: folder(), code: text, machine: 'thief' }).then(
      () => 'joined',
      (error: Error) => error.message,
    )
  for (const spent of [code, used])
    await expect.poll(() => join(spent)).toMatch(/used, or is older than a day\. Make another/)
  expect(await join('a'.repeat(100_000))).toBe('This is no join code. `chirality fleet invite` prints one.')

  for (const host of ['a b', 'http://x', '999.1.1.1', '1.2.3.4"', '-x', '', 'x'.repeat(300), 'a:1']) {
    const home = folder()
    await expect(initFleet({ home, host })).rejects.toThrow(/is no host/)
    expect(existsSync(`${home}/fleet`)).toBe(false)
  }
  const { url } = await initFleet({ home: folder(), host: '::1', port: 4300 })
  expect(url).toBe('tls://[::1]:4300')
  await expect(initFleet({ home: folder(), machine: 'x'.repeat(5_000) })).rejects.toThrow(/^.{0,200}$/)
})

test('a join whose answer was lost is repeated with the same key and code; another key, another name and a revoked machine are refused', async () => {
  const fleet = await startFleet()
  const hub = await connect(fleet.hub)
  const joins: string[] = []
  let isLost = true
  const losing = {
    serve: (subject: string, answer: Parameters<Link['serve']>[1]) =>
      hub.serve(subject, async body => {
        const said = await answer(body)
        if (isLost) throw new Error('lost')
        return said
      }),
  } as Link
  later(answerJoins(fleet.home, losing, machine => joins.push(machine)))
  const { code } = await invite(fleet.home, 'worker')
  const home = folder()
  const attempt = (to = home, machine = 'worker') => joinFleet({ home: to, code, machine })
  await expect.poll(() => attempt().catch((error: Error) => error.message)).toMatch(/did not come/)
  isLost = false
  const keysOf = async () =>
    (await readBroker(fleet.home))?.machines.map(({ machine, key }) => [machine, key])
  const stored = await keysOf()
  expect(stored?.map(([machine]) => machine)).toEqual(['hub', 'worker'])
  expect(await readMember(home)).toBeUndefined()

  // An answer may be lost while the broker reads its keys again: then a machine is told to ask once more.
  const refusal = (to: string, machine?: string) =>
    expect.poll(() =>
      attempt(to, machine).then(
        () => 'let in',
        ({ message }: Error) => message,
      ),
    )
  await refusal(folder()).toMatch(/used, or is older than a day/)
  await refusal(folder(), 'thief').toMatch(/used, or is older than a day/)
  await refusal(home, 'other').toContain('let this machine in as worker. Join with --name worker.')
  const { member } = await whenAnswered(attempt)
  expect(member).toMatchObject({ machine: 'worker', role: 'worker' })
  expect(await keysOf()).toEqual(stored)
  expect(publicKeyOf(member.seed)).toBe(stored?.[1]?.[1])
  expect(existsSync(join(home, 'fleet', 'joining.json'))).toBe(false)
  expect(joins).toEqual(['worker'])
  await expect
    .poll(() =>
      Link.open(member).then(
        link => link.close().then(() => 'in'),
        () => 'out',
      ),
    )
    .toBe('in')

  const again = folder()
  mkdirSync(join(again, 'fleet'), { recursive: true })
  const joining = { invitation: (await readBroker(fleet.home))?.invitations[0]?.key, seed: member.seed }
  writeFileSync(join(again, 'fleet', 'joining.json'), JSON.stringify(joining))
  await revoke(fleet.home, 'worker')
  await expect.poll(() => attempt(again).catch((error: Error) => error.message)).toMatch(/used, or is older/)
  expect((await keysOf())?.map(([machine]) => machine)).toEqual(['hub'])
})

/** A broker takes a moment to know a new code. */
const whenKnown = <T>(join: () => Promise<T>) => repeated(join, /used, or is older/)

/** An answer is lost while the broker reads its keys again. */
const whenAnswered = <T>(join: () => Promise<T>) => repeated(join, /did not come/)

async function repeated<T>(join: () => Promise<T>, refused: RegExp): Promise<T> {
  for (;;) {
    try {
      return await join()
    } catch (error) {
      if (!refused.test(String(error))) throw error
    }
  }
}

test('a join asks again when its answer does not come, and when its hub is not there at once', async () => {
  const fleet = await startFleet()
  const hub = await connect(fleet.hub)
  const { code } = await invite(fleet.home, 'worker')
  let asked = 0
  const stop = hub.serve(subjects.join, async () => {
    asked += 1
    stop()
    later(answerJoins(fleet.home, hub, () => {}))
    throw new Error('lost')
  })
  const home = folder()
  const { member } = await whenKnown(() => joinFleet({ home, code, machine: 'worker' }))
  expect([member.machine, asked]).toEqual(['worker', 1])
})

test('a machine that leaves its fleet can join again; nothing is removed, and the hub that made it says what ends', async () => {
  const home = folder()
  await expect(leaveFleet({ home })).rejects.toThrow('in no fleet')
  await initFleet({ home, machine: 'hub', port: await freePort() })
  await startIn(home)
  await expect(leaveFleet({ home })).rejects.toThrow('--force')
  await new CopyChoice(join(home, 'fleet', 'copies.json'), false).choose(false)
  const moved = 'moved-session'
  mkdirSync(join(home, 'leaving'))
  const move = { id: 'move-0123456789ab', from: 'hub', to: 'worker' }
  writeFileSync(join(home, 'leaving', `${moved}.json`), JSON.stringify(move))
  const host = new SessionHost({ harnesses: new HarnessRegistry<SessionHarness>(), address: '', home })
  later(() => host.close())
  expect(host.moves.leaving(moved)).toEqual(move)
  const { folder: left, freed } = await leaveFleet({ home, force: true })
  expect(freed).toEqual([moved])
  expect(host.moves.leaving(moved)).toBeUndefined()
  expect(existsSync(join(left, 'leaving', `${moved}.json`))).toBe(true)
  expect(new CopyChoice(join(home, 'fleet', 'copies.json'), false).sends).toBe(false)
  expect(await brokerPid(home)).toBeUndefined()
  expect(existsSync(join(left, 'member.json')) && existsSync(join(left, 'broker', 'broker.json'))).toBe(true)
  expect(await readMember(home)).toBeUndefined()
  expect((await initFleet({ home, machine: 'again', port: await freePort() })).machine).toBe('again')
})

/** A better level takes seconds of a whole core, and minutes on a busy machine. */
const FAST = { level: 1 }

function tarOf(name: string, bytes: Buffer): Buffer {
  const place = folder()
  mkdirSync(join(place, 'nats-server-v2'))
  writeFileSync(join(place, 'nats-server-v2', 'README.md'), 'x'.repeat(700))
  writeFileSync(join(place, 'nats-server-v2', name), bytes, { mode: 0o755 })
  const tar = execFileSync('tar', ['-c', '-C', place, 'nats-server-v2'], { maxBuffer: 1e9 })
  return gzipSync(tar, FAST)
}

test('a nats-server that the user gives is used only if it has the sum, and counts before others', async () => {
  const program = readFileSync(await natsBinary())
  const place = folder()
  const file = (name: string, bytes: Uint8Array) => {
    writeFileSync(join(place, name), bytes)
    return { from: join(place, name), sha256: sumOf(bytes) }
  }
  const home = folder()
  const kept = join(home, 'fleet', 'bin', 'given', 'nats-server')
  const refused = async (given: { from: string; sha256: string }, why: RegExp) => {
    await expect(installNatsServer(home, given)).rejects.toThrow(why)
    expect(existsSync(kept)).toBe(false)
  }
  const archive = file('nats.tar.gz', tarOf('nats-server', program))
  await refused({ ...archive, sha256: sumOf(Buffer.from('other')) }, /has the sum .*, not .* It is not used/)
  await refused({ ...archive, sha256: 'abc' }, /is no SHA-256 sum/)
  await refused({ ...archive, from: join(place, 'none') }, /cannot be read: ENOENT/)
  await refused({ ...archive, from: place }, /is no file/)
  await refused({ ...archive, from: '/dev/zero' }, /is no file/)
  await refused(file('script', Buffer.from('#!/bin/sh\necho hi\n')), /does not say its version/)
  await refused(file('empty', Buffer.alloc(0)), /cannot be run|does not say/)
  await refused(file('other.tar.gz', tarOf('other', Buffer.from('other'))), /has no nats-server/)
  await refused(file('torn.tar.gz', gzipSync(program, FAST).subarray(0, 5_000)), /cannot be unpacked/)
  await refused(file('x.zip', Buffer.from('PK\u0003\u0004')), /zip file/)
  await refused(file('long.tar.gz', gzipSync(Buffer.alloc(201_000_000), FAST)), /cannot be unpacked/)
  await refused({ from: 'http://127.0.0.1:1/nats-server', sha256: sumOf(program) }, /not an https address/)
  await refused({ from: 'file:///etc/passwd', sha256: sumOf(program) }, /not an https address/)

  const { version } = await installNatsServer(home, archive)
  expect(statSync(kept).mode & 0o777).toBe(0o700)
  const env = { PATH: join(place, 'no-such') }
  expect(await findNatsServer({ home, env })).toEqual({ path: kept, version })
  await expect(installNatsServer(home, file('bad', Buffer.from('#!/bin/sh\n')))).rejects.toThrow()
  expect(await findNatsServer({ home, env })).toEqual({ path: kept, version })

  await expect(findNatsServer({ home: folder(), env: { CHIRALITY_NATS_BIN: '/no/such' } })).rejects.toThrow(
    /releases\/tag\/v[\d.]+, and run `chirality fleet init --nats FILE --sha256 SUM`/,
  )
})
