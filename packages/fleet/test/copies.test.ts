import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FleetLocal } from '@chirality/centre'
import { openSessionLog } from '@chirality/sessions'
import { expect, test } from 'vitest'
import type { Link } from '../src/engine/link.ts'
import { Mirror } from '../src/mirror/mirror.ts'
import { Carrier } from '../src/move/carrier.ts'
import { Copies } from '../src/move/copies.ts'
import { OwnSessions } from '../src/own-sessions.ts'
import { MISSING, RemoteSessions } from '../src/remote-sessions.ts'
import { subjects } from '../src/subjects.ts'
import { folder } from './support/fleet.ts'
import { twoMachines, work } from './support/machines.ts'

test('the copies of a session go when it is deleted, and stay when it went to another machine', async () => {
  const { one, link, machines, owners } = await twoMachines()
  const home = folder()
  const remote = new RemoteSessions(join(home, 'mirrors'))
  mkdirSync(join(home, 'mirrors'), { recursive: true })
  const mirror = new Mirror({ folder: join(home, 'mirrors'), fetch: async () => undefined })
  const carrier = new Carrier({
    home,
    machine: 'hub',
    role: 'hub',
    link,
    machines,
    remote,
    logs: mirror,
    log: id => openSessionLog(one.project, id),
    own: async () => undefined,
  })
  const copyOf = (id: string) => join(home, 'fleet', 'copies', 'one', `${id}.parcel`)
  const isCopied = (id: string) => {
    carrier.goOn()
    return existsSync(copyOf(id))
  }
  // Leftovers of a hub that was killed in a takeover, and while it fetched a copy.
  const left = [
    join('takeovers', 'takeover-1', 'parcel'),
    join('copies', 'one', 's.parcel.copy-0123456789ab'),
  ]
  for (const file of left.map(name => join(home, 'fleet', name))) {
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, 'half')
  }
  const [deleted, moved] = [await work(one.host, one.project), await work(one.host, one.project)]
  const discarded = await work(one.host, one.project)
  for (const id of [deleted, moved, discarded]) {
    const session = await one.host.store.resume(id)
    remote.take('one', id, JSON.stringify({ session, status: null }))
    await expect.poll(() => isCopied(id)).toBe(true)
    // The machine has it still.
    await carrier.ended('one', id)
    expect(existsSync(copyOf(id))).toBe(true)
  }
  await owners.give(moved, 'two', { move: 'move-1', seen: undefined })
  // It can be restored on the machine that it went to.
  const session = await one.host.store.resume(discarded)
  remote.own(discarded, 'two')
  remote.take('two', discarded, JSON.stringify({ session, status: null, discarded: true }))
  for (const id of [deleted, moved, discarded]) {
    remote.take('one', id, '')
    await carrier.ended('one', id)
  }
  expect([deleted, moved, discarded].map(id => existsSync(copyOf(id)))).toEqual([false, true, true])
  await expect.poll(() => left.filter(name => existsSync(join(home, 'fleet', name)))).toEqual([])
  expect(readdirSync(join(home, 'fleet', 'takeovers'))).toEqual([])
})

test('the first copy of a session that is deleted while it is fetched is not kept', async () => {
  const { one, link, machines } = await twoMachines()
  const home = folder()
  const remote = new RemoteSessions(join(home, 'mirrors'))
  mkdirSync(join(home, 'mirrors'), { recursive: true })
  const mirror = new Mirror({ folder: join(home, 'mirrors'), fetch: async () => undefined })
  const [begun, deleted] = [signal(), signal()]
  const faults: unknown[] = []
  // The machine takes its time for the first step.
  const slow = (): Link => {
    const real = link()
    const request: Link['request'] = async (...args) => {
      if (!Buffer.from(args[1]).includes('"about"')) return real.request(...args)
      begun.give()
      await deleted.given
      return real.request(...args)
    }
    return Object.assign(Object.create(real), { request })
  }
  const carrier = new Carrier({
    home,
    machine: 'hub',
    role: 'hub',
    link: slow,
    machines,
    remote,
    logs: mirror,
    log: id => openSessionLog(one.project, id),
    own: async () => undefined,
    onFault: error => faults.push(error),
  })
  const id = await work(one.host, one.project)
  const session = await one.host.store.resume(id)
  remote.take('one', id, JSON.stringify({ session, status: null }))
  carrier.goOn()
  await begun.given
  remote.take('one', id, '')
  await carrier.ended('one', id)
  deleted.give()
  const other = await work(one.host, one.project)
  const next = JSON.stringify({ session: await one.host.store.resume(other), status: null })
  remote.take('one', other, next)
  const names = () => readdirSync(join(home, 'fleet', 'copies', 'one')).sort()
  // One at a time of a machine: that of the next session comes after it.
  await expect
    .poll(() => {
      carrier.goOn()
      return existsSync(join(home, 'fleet', 'copies', 'one', `${other}.json`))
    })
    .toBe(true)
  expect(names()).toEqual([`${other}.json`, `${other}.parcel`])
  expect(faults).toEqual([])
})

test('the mirrored log of a session goes when it is deleted: what is on its way of it is not kept, and a session that returns is fetched', async () => {
  const { one, link, machines, owners } = await twoMachines()
  const home = folder()
  const mirrors = join(home, 'mirrors')
  const id = await work(one.host, one.project)
  const bytes = readFileSync(join(one.project, '.chirality', 'events', `${id}.ndjson`))
  const fetch = async (_machine: string, _session: string, from: number) => bytes.subarray(from)
  const mirror = new Mirror({ folder: mirrors, fetch })
  const remote = new RemoteSessions(mirrors)
  const carrier = new Carrier({
    home,
    machine: 'hub',
    role: 'hub',
    link,
    machines,
    remote,
    logs: mirror,
    log: session => openSessionLog(one.project, session),
    own: async () => undefined,
  })
  const part = (machine: string, from = 0) => ({
    subject: subjects.events(machine, id),
    seq: 1,
    body: bytes.subarray(from),
    headers: { 'Chi-From': String(from) },
  })
  const take = (machine: string) => mirror.take(part(machine) as Parameters<Mirror['take']>[0])
  const logOf = (machine: string) => join(mirrors, machine, '.chirality', 'events', `${id}.ndjson`)
  const isThere = () => ['one', 'two'].map(machine => existsSync(logOf(machine)))

  // A copy of the project on another machine has a session of the same id: that one is not deleted.
  await Promise.all([take('one'), take('two')])
  expect(isThere()).toEqual([true, true])
  const reader = await mirror.log('one', id)
  await carrier.ended('one', id)
  expect(isThere()).toEqual([false, true])
  await reader.close()
  await take('one')
  expect(isThere()).toEqual([false, true])
  mirror.returned('one', id)
  await expect.poll(() => existsSync(logOf('one')) && readFileSync(logOf('one')).equals(bytes)).toBe(true)

  // It went to the other machine, and was deleted there: the log of the first one goes, too.
  await owners.give(id, 'two', { move: 'move-1', seen: undefined })
  await carrier.ended('one', id)
  expect(isThere()).toEqual([true, true])
  await carrier.ended('two', id)
  expect(isThere()).toEqual([false, false])
  await mirror.close()
})

test('copies that cannot be removed are reported, and end nothing', async () => {
  const { link, machines, sendsCopies } = await twoMachines()
  const inTheWay = join(folder(), 'file')
  writeFileSync(inTheWay, '')
  sendsCopies('one', false)
  const faults: unknown[] = []
  const copies = new Copies({
    folder: inTheWay,
    link,
    machines,
    sessions: () => [],
    onFault: error => faults.push(error),
  })
  await copies.soon()
  await copies.soon()
  expect(faults).toEqual([expect.objectContaining({ code: 'ENOTDIR' })])
})

test('the copies of a machine go on when another one answers nonsense about its clones', async () => {
  const { one, link, machines } = await twoMachines()
  const id = await work(one.host, one.project)
  const session = await one.host.store.resume(id)
  const many = Array.from({ length: 101 }, () => ({ commits: [] }))
  for (const data of [null, 'x', {}, [null], [{ commits: 1 }], [{ commits: ['--all'] }], many]) {
    let asked = 0
    link().serve(subjects.calls('two'), async () => {
      asked += 1
      return Buffer.from(JSON.stringify({ ok: true, data }))
    })
    const sessions = () => [{ machine: 'one', session, status: null }]
    const copies = new Copies({ folder: folder(), link, machines, sessions })
    await copies.soon()
    expect([asked, (await copies.get('one', id))?.projectRoot]).toEqual([1, one.project])
  }
})

test('a session whose copy is too large is not packed again after each turn, but later', async () => {
  const { one, link, machines } = await twoMachines()
  const id = await work(one.host, one.project)
  const session = await one.host.store.resume(id)
  writeFileSync(join(one.project, 'large'), randomBytes(2 * 1024 * 1024))
  let packs = 0
  const counting = (): Link => {
    const real = link()
    const request: Link['request'] = async (...args) => {
      if (Buffer.from(args[1]).includes('"step":"copy"')) packs += 1
      return real.request(...args)
    }
    return Object.assign(Object.create(real), { request })
  }
  let { lastSeq } = session
  const sessions = () => [{ machine: 'one', session: { ...session, lastSeq }, status: null }]
  const limits = { copyBytes: 1024 * 1024 }
  const options = { folder: folder(), link: counting, machines, sessions }
  const copies = new Copies({ ...options, limits })
  for (let turn = 0; turn < 3; turn += 1) {
    await copies.soon()
    lastSeq += 1
  }
  expect(packs).toBe(1)
  expect(copies.problem('one', id)).toContain('only copies of up to 1 MB are kept')
  expect(await copies.has('one', id)).toBe(false)

  // Its time is over, and the file is gone.
  const again = new Copies({ ...options, limits: { ...limits, tooLargeMs: -1 } })
  await again.soon()
  expect(again.problem('one', id)).toContain('only copies of up to')
  rmSync(join(one.project, 'large'))
  await again.soon()
  expect(again.problem('one', id)).toBeUndefined()
  expect(await again.has('one', id)).toBe(true)
})

test('a session whose project is away is not told as deleted: only one that was removed is, also by the next server', async () => {
  const { one } = await twoMachines()
  const home = folder()
  const said: string[] = []
  const link = {
    publish: async (_subject: string, body: Uint8Array) => void said.push(Buffer.from(body).toString()),
  } as unknown as Link
  const discarded = new Set<string>()
  const local = {
    host: one.host,
    isDiscarded: (id: string) => discarded.has(id),
    toldByWork: () => 'ends',
  } as unknown as FleetLocal
  const remote = new RemoteSessions(join(home, 'mirrors'))
  const tell = async (own: OwnSessions, id: string) => {
    said.length = 0
    await own.tell(link, local)
    expect(said).toHaveLength(1)
    remote.take('one', id, said[0] ?? '')
    return { isEnd: said[0] === '', isKnown: remote.get(id) !== undefined }
  }
  const id = await work(one.host, one.project)
  const own = new OwnSessions('one', home)
  own.mark(id)
  expect(await tell(own, id)).toEqual({ isEnd: false, isKnown: true })
  // A hub leaves to its loop what that tells itself. What is not understood is left out.
  expect([remote.get(id)?.work, new RemoteSessions(join(home, 'mirrors')).get(id)?.work]).toEqual([
    'ends',
    'ends',
  ])
  remote.take('one', id, (said[0] ?? '').replace('"work":"ends"', '"work":{"hostile":1}'))
  expect([remote.get(id)?.session.id, remote.get(id)?.work]).toEqual([id, undefined])

  const status = { sessionId: id, projectRoot: one.project, phase: 'working' }
  remote.take('one', id, JSON.stringify({ session: await one.host.store.resume(id), status }))
  renameSync(one.project, `${one.project}-away`)
  own.mark(id)
  expect(await tell(own, id)).toEqual({ isEnd: false, isKnown: true })
  // It does not run.
  expect(remote.get(id)?.status).toBeNull()
  renameSync(`${one.project}-away`, one.project)

  // Discarded: no list of a hub has it, and the hub knows where it can be restored.
  discarded.add(id)
  own.markRemoved(id)
  expect(await tell(own, id)).toEqual({ isEnd: false, isKnown: false })
  expect([remote.list(), remote.machineOf(id)]).toEqual([[], 'one'])
  expect(new RemoteSessions(join(home, 'mirrors')).list()).toEqual([])
  // Also while its project is away.
  remote.take('one', id, MISSING)
  expect([remote.list(), remote.machineOf(id)]).toEqual([[], 'one'])
  discarded.delete(id)
  own.mark(id)
  expect(await tell(own, id)).toEqual({ isEnd: false, isKnown: true })
  expect(readFileSync(join(home, 'removed.json'), 'utf8')).toBe('[]')
  discarded.add(id)
  own.markRemoved(id)
  expect(await tell(own, id)).toEqual({ isEnd: false, isKnown: false })
  // The server is killed, and the next one deletes it before it is in the fleet: the hubs hear that.
  await one.host.deleteSession(id)
  discarded.delete(id)
  await expect.poll(() => readFileSync(join(home, 'removed.json'), 'utf8')).toContain(id)
  const next = new OwnSessions('one', home)
  await next.markAll({ host: { projects: () => [] } } as unknown as FleetLocal)
  expect(await tell(next, id)).toEqual({ isEnd: true, isKnown: false })
  expect(readFileSync(join(home, 'removed.json'), 'utf8')).toBe('[]')
})

test('the sessions of a project that is opened later are told, once', async () => {
  const { one } = await twoMachines()
  const id = await work(one.host, one.project)
  const said: string[] = []
  const link = { publish: async (subject: string) => void said.push(subject) } as unknown as Link
  let projects: string[] = []
  let isAway = false
  const list = async (root: string) => {
    if (isAway) throw new Error('EIO')
    return one.host.store.list(root)
  }
  const store = { list, get: (sessionId: string) => one.host.store.get(sessionId) }
  const host = { projects: () => projects, store, openSession: () => undefined }
  const local = { host, isDiscarded: () => false, toldByWork: () => undefined } as unknown as FleetLocal
  const own = new OwnSessions('one', folder())
  const tell = async () => {
    await own.markOpened(local)
    await own.tell(link, local)
    return said.splice(0)
  }
  await own.markAll(local)
  expect(await tell()).toEqual([])
  projects = [one.project]
  expect([await tell(), await tell()]).toEqual([[subjects.session('one', id)], []])
  // Closed and opened again: something may have been made in it meanwhile.
  projects = []
  expect(await tell()).toEqual([])
  projects = [one.project]
  // Its disk could not be read at first.
  isAway = true
  expect(await tell()).toEqual([])
  isAway = false
  expect(await tell()).toEqual([subjects.session('one', id)])
})

function signal(): { given: Promise<void>; give: () => void } {
  let give = () => {}
  const given = new Promise<void>(resolve => {
    give = resolve
  })
  return { given, give }
}
