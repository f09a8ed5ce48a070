import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FleetLocal } from '@chirality/centre'
import { expect, onTestFinished, test } from 'vitest'
import type { Link } from '../src/engine/link.ts'
import { Machines } from '../src/machines.ts'
import { OwnSessions } from '../src/own-sessions.ts'
import { RemoteSessions } from '../src/remote-sessions.ts'
import { subjects } from '../src/subjects.ts'

const idOf = (index: number) => `22222222-2222-4222-8222-${String(index).padStart(12, '0')}`
const told = (index: number) =>
  JSON.stringify({
    session: { id: idOf(index), projectRoot: '/p', updatedAt: '2026-01-01T00:00:00Z' },
    status: null,
  })

test('the machines are listed without a walk through their sessions', () => {
  const folder = mkdtempSync(join(tmpdir(), 'chirality-many-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const remote = new RemoteSessions(folder)
  const SESSIONS = 500
  for (let index = 0; index < SESSIONS; index += 1) remote.take(`m${index % 3}`, idOf(index), told(index))
  // Each name once, however many sessions a machine has and however often it tells of them.
  remote.take('m0', idOf(0), told(0))
  expect(remote.machines().sort()).toEqual(['m0', 'm1', 'm2'])
  const machines = new Machines('hub')
  machines.connected(true)
  const listed = machines.list({ named: remote.machines() })
  expect(listed.map(({ machine, state }) => [machine, state])).toEqual(
    ['m0', 'm1', 'm2'].map(name => [name, machines.state(name)]),
  )
  expect(machines.state('hub')).toBe('here')

  // A machine whose sessions are deleted or moved away is not named any more.
  for (let index = 0; index < SESSIONS; index += 1) {
    if (index % 3 === 1) remote.take('m1', idOf(index), '')
    if (index % 3 === 2) {
      remote.own(idOf(index), 'm3')
      remote.take('m3', idOf(index), told(index))
    }
  }
  expect(remote.machines().sort()).toEqual(['m0', 'm3'])
  expect(new RemoteSessions(folder).machines().sort()).toEqual(['m0', 'm3'])
})

test('sessions at rest are told again when the stream of states is another one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chirality-again-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  let stream = new Map<string, number>()
  let seq = 0
  const publish = async (subject: string, _: Uint8Array, { after }: { after?: number } = {}) => {
    if (after !== undefined && after !== (stream.get(subject) ?? 0)) return { kind: 'conflict' }
    seq += 1
    stream.set(subject, seq)
    return { kind: 'stored', seq }
  }
  const link = { publish } as unknown as Link
  const session = { id: idOf(1) }
  const store = { list: async () => [session], get: async () => session }
  const host = { projects: () => ['/p'], store, openSession: () => undefined }
  const local = { host, isDiscarded: () => false, toldByWork: () => undefined } as unknown as FleetLocal
  const own = new OwnSessions('w', folder)
  await own.markAll(local)
  const told = async () => {
    await own.beat(link, local, {} as Parameters<OwnSessions['beat']>[2])
    await own.tell(link, local)
    return [...stream.keys()]
  }
  const all = [subjects.presence('w'), subjects.session('w', idOf(1))]
  expect(await told()).toEqual(all)
  expect([await told(), seq]).toEqual([all, 3])
  stream = new Map()
  expect(await told()).toEqual(all)

  // They lost it while the machine was off, and its next server has not opened the project.
  stream = new Map()
  const closed = { ...local, host: { ...host, projects: () => [] } } as unknown as FleetLocal
  await expect.poll(() => new OwnSessions('w', folder).roots()).toEqual(['/p'])
  const next = new OwnSessions('w', folder)
  await next.markAll(closed)
  await next.tell(link, closed)
  expect([...stream.keys()]).toEqual([subjects.session('w', idOf(1))])
})

test('a session whose machine has a clock that is ahead is not the newest until that time', () => {
  const folder = mkdtempSync(join(tmpdir(), 'chirality-ahead-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const remote = new RemoteSessions(folder)
  const ahead = { ...JSON.parse(told(1)).session, updatedAt: '2999-01-01T00:00:00Z' }
  const status = { sessionId: idOf(1), projectRoot: '/p', phase: 'idle', updatedAt: ahead.updatedAt }
  remote.take('m', idOf(1), JSON.stringify({ session: ahead, status }))
  const known = remote.get(idOf(1))
  for (const time of [known?.session.updatedAt, known?.status?.updatedAt])
    expect(Date.parse(String(time))).toBeLessThanOrEqual(Date.now())
  remote.take('m', idOf(2), told(2))
  expect(remote.get(idOf(2))?.session.updatedAt).toBe('2026-01-01T00:00:00Z')
})
