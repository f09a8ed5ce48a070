import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openSessionLog } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { Owners } from '../src/claim/owners.ts'
import type { Link } from '../src/engine/link.ts'
import { HeardStates } from '../src/heard-states.ts'
import { type Machine, Machines } from '../src/machines.ts'
import { Mirror } from '../src/mirror/mirror.ts'
import { Carrier } from '../src/move/carrier.ts'
import { RemoteSessions } from '../src/remote-sessions.ts'
import { requireGone } from '../src/removals.ts'
import { FleetSpending } from '../src/spending.ts'
import { subjects } from '../src/subjects.ts'
import { connect, folder, joined, later, startFleet } from './support/fleet.ts'

const [DELETED, MOVED, KEPT] = ['deleted', 'moved', 'kept'] as const

const stateOf = (id: string) =>
  Buffer.from(
    JSON.stringify({ session: { id, projectRoot: '/p', updatedAt: '2026-01-01T00:00:00Z' }, status: null }),
  )

async function tells(link: Link, machine: string, session: string): Promise<void> {
  await link.publish(subjects.events(machine, session), Buffer.from('{"seq":1}\n'), {
    headers: { 'Chi-From': '0' },
  })
  await link.publish(subjects.session(machine, session), stateOf(session))
}

/** The parts of a hub with its fleet, until it is stopped. */
function hubOn(link: Link, home: string, name = 'hub') {
  const mirrors = join(home, 'fleet', 'mirrors')
  const remote = new RemoteSessions(mirrors)
  const mirror = new Mirror({ folder: mirrors, fetch: async () => undefined })
  const machines = new Machines(name)
  machines.connected(true)
  const carrier = new Carrier({
    home,
    machine: name,
    role: 'hub',
    link: () => link,
    machines: () => machines.list(),
    remote,
    logs: mirror,
    log: id => openSessionLog(mirrors, id),
    own: async () => undefined,
    onForgotten: (machine, state) => machines.forget(machine, state),
  })
  const heard = new HeardStates({
    own: name,
    machines,
    remote,
    mirror,
    carrier,
    has: async () => false,
    spending: new FleetSpending(home, name),
  })
  const followers = [
    link.follow('events', 1, message => mirror.take(message)),
    link.follow('state', 'last-of-each', (message, isLive) => heard.take(link, message, isLive)),
    carrier.follow(link),
  ]
  let isOpen = true
  const stop = async () => {
    if (!isOpen) return
    isOpen = false
    for (const follower of followers) await follower.close()
    await mirror.close()
  }
  later(stop)
  return {
    carrier,
    remote,
    machines,
    stop,
    listed: () =>
      remote
        .list()
        .map(({ session }) => session.id)
        .sort(),
    hasLog: (machine: string, id: string) => mirror.has(machine, id),
    hasFolder: (machine: string) => existsSync(join(mirrors, machine)),
  }
}

test('the log of a deleted session goes from the brokers; one that is elsewhere stays until it is deleted there', async () => {
  const fleet = await startFleet()
  const link = await connect(fleet.hub)
  await link.prepare()
  const worker = await connect((await joined(fleet, link, 'one')).member)
  const other = await connect((await joined(fleet, link, 'two')).member)
  for (const id of [DELETED, MOVED, KEPT]) await tells(worker, 'one', id)
  await new Owners(link).give(MOVED, 'two', { move: 'm', seen: undefined })
  await tells(other, 'two', MOVED)
  const hub = hubOn(link, folder())
  await expect.poll(hub.listed).toEqual([DELETED, KEPT, MOVED])
  const stored = async () => (await link.subjectsOf('events')).sort()

  for (const id of [DELETED, MOVED]) await worker.publish(subjects.session('one', id), Buffer.from(''))
  await expect
    .poll(() => {
      hub.carrier.goOn()
      return stored()
    })
    .toEqual([subjects.events('one', KEPT), subjects.events('one', MOVED), subjects.events('two', MOVED)])
  expect(hub.listed()).toEqual([KEPT, MOVED])

  // A hub that was away meanwhile hears all of it when it is back.
  await hub.stop()
  await other.publish(subjects.session('two', MOVED), Buffer.from(''))
  const next = hubOn(link, folder())
  await expect
    .poll(() => {
      next.carrier.goOn()
      return stored()
    })
    .toEqual([subjects.events('one', KEPT)])
})

test('a machine that is gone for good is forgotten by every hub, also by one that was away; what it tells when it is back stays', async () => {
  const fleet = await startFleet()
  const link = await connect(fleet.hub)
  await link.prepare()
  const worker = await connect((await joined(fleet, link, 'one')).member)
  const other = await connect((await joined(fleet, link, 'two')).member)
  await worker.publish(subjects.presence('one'), Buffer.from(BEAT))
  await tells(worker, 'one', DELETED)
  await tells(other, 'two', KEPT)
  const [home, otherHome] = [folder(), folder()]
  const hub = hubOn(link, home)
  const away = hubOn(link, otherHome, 'hub-2')
  for (const one of [hub, away]) {
    await expect.poll(one.listed).toEqual([DELETED, KEPT])
    await expect.poll(() => one.hasLog('one', DELETED)).toBe(true)
    await expect.poll(() => one.machines.list().map(({ machine }) => machine)).toContain('one')
  }
  await away.stop()
  // Its rights were taken away a moment ago: its last beat is no reason to keep it.
  await worker.publish(subjects.presence('one'), Buffer.from(BEAT))
  await expect.poll(() => hub.machines.state('one')).toBe('here')

  expect(await hub.carrier.forget('one')).toBe(1)
  const isForgotten = async (one: ReturnType<typeof hubOn>) => {
    await expect.poll(one.listed).toEqual([KEPT])
    await expect.poll(() => one.hasFolder('one')).toBe(false)
    await expect.poll(() => one.machines.list().map(({ machine }) => machine)).not.toContain('one')
  }
  await isForgotten(hub)
  expect(await link.subjectsOf('events')).toEqual([subjects.events('two', KEPT)])
  expect(await link.subjectsOf('state')).toEqual([subjects.session('two', KEPT)])

  // It joined again: a hub that hears of both at once keeps what it tells now.
  await tells(worker, 'one', MOVED)
  const back = hubOn(link, otherHome, 'hub-2')
  for (const one of [hub, back]) {
    await expect.poll(one.listed).toEqual([KEPT, MOVED])
    await expect.poll(() => [one.hasLog('one', DELETED), one.hasLog('one', MOVED)]).toEqual([false, true])
  }
  // Nor is it forgotten once more when a hub starts again without a word of it from the broker.
  await hub.stop()
  await expect.poll(hubOn(link, home).listed).toEqual([KEPT, MOVED])
})

test('a machine that can come back is not forgotten, and only the hub that lets machines in forgets', () => {
  const one = { machine: 'one', isThis: false, hasKey: true, state: 'away' } as Machine
  const because = (machines: Machine[], name = 'one', letsIn = true) => {
    return () => requireGone(machines, name, letsIn)
  }
  expect(requireGone([one], 'one', true)).toBe(one)
  expect(requireGone([{ ...one, hasKey: false, state: 'here' }], 'one', true)).toMatchObject({
    hasKey: false,
  })
  expect(because([{ ...one, state: 'here' }])).toThrow('is there')
  expect(because([{ ...one, state: 'unknown' }])).toThrow('may be there')
  expect(because([{ ...one, isThis: true }])).toThrow('cannot be forgotten')
  expect(because([one], 'none')).toThrow('No machine of the fleet is called none')
  expect(because([one], 'one', false)).toThrow('on the hub that made the fleet')
})

const BEAT = JSON.stringify({
  role: 'worker',
  version: '1',
  labels: [],
  slots: 1,
  busy: 0,
  load: 0,
  agents: [],
  projects: [],
})
