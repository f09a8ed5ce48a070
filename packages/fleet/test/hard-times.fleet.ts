import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { brokerPid } from '../src/engine/broker-process.ts'
import { BIN_VARIABLE } from '../src/engine/nats-binary.ts'
import { Mirror } from '../src/mirror/mirror.ts'
import { logPath, Shipper } from '../src/ship/shipper.ts'
import { connect, folder, joined, later, openSessions, say, sessionLog, startFleet } from './support/fleet.ts'
import { natsBinary } from './support/nats.ts'
import { copied, git, makeRepository } from './support/processes/copied-session.ts'
import { type MachineProcess, ProcessFleet } from './support/processes/process-fleet.ts'
import { WAIT } from './support/processes/speaking-agent.ts'
import { portOf, proxy } from './support/proxy.ts'

const HOUR = 3_600_000
const SESSION = '11111111-1111-4111-8111-111111111111'

const read = (file: string) => {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}

async function processFleet(prepare?: (store: string) => Promise<void>): Promise<ProcessFleet> {
  const fleet = await ProcessFleet.start(prepare === undefined ? {} : { prepare })
  later(() => fleet.close())
  return fleet
}

/** The hub has the log of a session, byte for byte. */
async function isMirrored(fleet: ProcessFleet, machine: string, source: string, sessionId: string) {
  const own = logPath(source, sessionId)
  const mirrored = logPath(join(fleet.hub.home, 'fleet', 'mirrors', machine), sessionId)
  await expect.poll(() => read(own) !== '' && read(mirrored) === read(own), { timeout: 110_000 }).toBe(true)
}

/** Two machines with clones of a repository, and sessions of the first one that the hub has copies of. */
async function twoClones(fleet: ProcessFleet, clocks: { worker?: number; target?: number } = {}) {
  const [source, project, clone] = ['source', 'work', 'clone'].map(name => fleet.folder(name)) as [
    string,
    string,
    string,
  ]
  makeRepository(source, 3)
  for (const one of [project, clone]) git(source, 'clone', '-q', source, one)
  const clock = (clockMs: number | undefined) => (clockMs === undefined ? {} : { clockMs })
  const worker = await fleet.machine('worker', { project, ...clock(clocks.worker) })
  const target = await fleet.machine('target', { project: clone, ...clock(clocks.target) })
  const { sessionIds: [first = '', second = ''] = [] } = await worker.send({ do: 'create', sessions: 2 })
  for (const id of [first, second]) await copied(fleet.hub, 'worker', id)
  return { worker, target, first, second, project, clone }
}

/** A broker needs some seconds to notice that nobody is behind a connection. */
async function takeover(hub: MachineProcess, sessionId: string): Promise<void> {
  await expect
    .poll(
      () =>
        hub.send({ do: 'takeover', sessionId, to: 'target' }).then(
          () => 'taken over',
          (error: Error) => error.message,
        ),
      { timeout: 60_000, interval: 500 },
    )
    .toBe('taken over')
}

test('a worker that is stopped for a minute is away, does not go on with what another took over, and ships the rest when it goes on', async () => {
  const fleet = await processFleet()
  const { hub } = fleet
  const { worker, target, first, second, project } = await twoClones(fleet)
  await worker.send({ do: 'turn', sessionId: first, message: WAIT })
  worker.signal('SIGSTOP')
  const end = performance.now() + 60_000
  await hub.until({ do: 'machines' }, ({ states }) => states?.worker === 'away')
  const asked = target.send({ do: 'asked' })
  await takeover(hub, first)
  expect((await asked).message).toContain('Go on')
  await sleep(end - performance.now())
  const again = target.send({ do: 'asked' })
  worker.signal('SIGCONT')
  await hub.until({ do: 'machines' }, ({ states }) => states?.worker === 'here')
  const { running } = await worker.until({ do: 'running' }, ({ sessionIds }) => !sessionIds?.includes(first))
  expect(running).toEqual([])
  await worker.send({ do: 'turn', sessionId: second, message: 'Hello again' })
  await isMirrored(fleet, 'worker', project, second)
  // Only this asks the other machine's agent once more.
  await hub.send({ do: 'call', sessionId: first, message: 'And now?' })
  expect((await again).message).toContain('And now?')
})

test('machines whose clocks are an hour off are here, their logs are in order, and one takes over from the other', async () => {
  const fleet = await processFleet()
  const { hub } = fleet
  const { worker, target, first, second, project, clone } = await twoClones(fleet, {
    worker: HOUR,
    target: -HOUR,
  })
  const at = (root: string) =>
    Date.parse((JSON.parse(read(logPath(root, first)).trim().split('\n').at(-1) ?? '') as { at: string }).at)
  expect(at(project) - Date.now()).toBeGreaterThan(HOUR / 2)
  for (const id of [first, second]) await isMirrored(fleet, 'worker', project, id)
  await worker.send({ do: 'turn', sessionId: first, message: WAIT })
  await worker.kill()
  await hub.until({ do: 'machines' }, ({ states }) => states?.worker === 'away' && states.target === 'here')
  const asked = target.send({ do: 'asked' })
  await takeover(hub, first)
  expect((await asked).message).toContain('Go on')
  await isMirrored(fleet, 'target', clone, first)
  expect(at(clone) - Date.now()).toBeLessThan(-HOUR / 2)
  // It is back with the later clock, and is refused nevertheless.
  const back = await fleet.start('worker', { project, clockMs: HOUR })
  await back.until({ do: 'running' }, ({ sessionIds }) => !sessionIds?.includes(first))
  expect((await back.send({ do: 'running' })).sessionIds).toContain(second)
})

/**
 * A `nats-server` whose store is on a disk of 64 MB. In namespaces of its own it may mount that without root, and the disk
 * goes with it.
 */
async function onSmallDisk(store: string): Promise<void> {
  const nats = await natsBinary()
  const [program, inside] = ['nats-server', 'inside'].map(name => join(folder(), name)) as [string, string]
  const lines = (...given: string[]) => ['#!/bin/sh', ...given, ''].join('\n')
  const mount = `mount -t tmpfs -o size=64m,mode=0700 tmpfs '${store}'`
  writeFileSync(inside, lines(`${mount} && exec '${nats}' "$@"`), { mode: 0o700 })
  const asked = `[ "$1" = -c ] || exec '${nats}' "$@"`
  const started = `exec unshare --user --map-root-user --mount '${inside}' "$@"`
  writeFileSync(program, lines(asked, started), { mode: 0o700 })
  mkdirSync(store, { recursive: true })
  vi.stubEnv(BIN_VARIABLE, program)
  later(() => vi.unstubAllEnvs())
}

test.runIf(process.platform === 'linux')(
  'a full disk of the broker is said; the worker goes on, and all is shipped when there is room',
  async () => {
    let store = ''
    const fleet = await processFleet(made => {
      store = made
      return onSmallDisk(made)
    })
    const worker = await fleet.machine('worker')
    const { sessionIds: [id = ''] = [] } = await worker.send({ do: 'create', sessions: 1 })
    await isMirrored(fleet, 'worker', worker.project, id)
    // The disk as the broker sees it: for all others the folder is empty.
    expect(readdirSync(store)).toEqual([])
    const disk = join('/proc', String(await brokerPid(fleet.hub.home)), 'root', store)
    expect(readdirSync(disk)).toContain('jetstream')
    const filler = join(disk, 'filler')
    fill(filler)
    const size = () => statSync(logPath(worker.project, id)).size
    const before = size()
    await worker.send({ do: 'speak', perSecond: 100, seconds: 2 })
    expect(size()).toBeGreaterThan(before)
    const { readOnly } = await worker.until({ do: 'info' }, reply => typeof reply.readOnly === 'string')
    expect(readOnly).toContain('no space left')
    rmSync(filler)
    await isMirrored(fleet, 'worker', worker.project, id)
    await worker.until({ do: 'info' }, reply => reply.readOnly === null)
  },
)

test('a worker behind a network that swallows all bytes notices it, and ships everything when there is one again', async () => {
  const fleet = await startFleet()
  const hub = await connect(fleet.hub)
  await hub.prepare()
  const { member } = await joined(fleet, hub)
  const between = await proxy(portOf(fleet.hub.url))
  const worker = await connect({ ...member, url: `tls://127.0.0.1:${between.port}` })
  const project = folder()
  const log = await sessionLog(project, SESSION)
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
  const isWhole = () => read(logPath(join(mirrors, 'worker'), SESSION)) === read(logPath(project, SESSION))
  say(log, 'before')
  await log.flush()
  await expect.poll(isWhole).toBe(true)
  between.swallow()
  say(log, 'into nothing')
  await log.flush()
  await expect.poll(() => worker.connected).toBe(false)
  expect(isWhole()).toBe(false)
  between.mend()
  await expect.poll(isWhole).toBe(true)
  expect(worker.connected).toBe(true)
})

/** To the last byte. */
function fill(path: string): void {
  const { stderr } = spawnSync('sh', ['-c', 'LC_ALL=C exec cat /dev/zero > "$1"', 'sh', path], {
    encoding: 'utf8',
  })
  expect(stderr).toContain('No space left')
}
