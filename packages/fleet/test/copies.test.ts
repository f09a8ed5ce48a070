import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openSessionLog } from '@chirality/sessions'
import { expect, test } from 'vitest'
import type { Link } from '../src/engine/link.ts'
import type { LocalMachine } from '../src/machines.ts'
import { Carrier } from '../src/move/carrier.ts'
import { Copies } from '../src/move/copies.ts'
import { OwnSessions } from '../src/own-sessions.ts'
import { RemoteSessions } from '../src/remote-sessions.ts'
import { subjects } from '../src/subjects.ts'
import { folder } from './support/fleet.ts'
import { twoMachines, work } from './support/machines.ts'

test('the copies of a session go when it is deleted, and stay when it went to another machine', async () => {
  const { one, link, machines, owners } = await twoMachines()
  const home = folder()
  const remote = new RemoteSessions(join(home, 'mirrors'))
  mkdirSync(join(home, 'mirrors'), { recursive: true })
  const carrier = new Carrier({
    ...{ home, machine: 'hub', role: 'hub', link, machines, remote },
    ...{ log: id => openSessionLog(one.project, id), own: async () => undefined },
  })
  const copyOf = (id: string) => join(home, 'fleet', 'copies', 'one', `${id}.parcel`)
  const isCopied = (id: string) => {
    carrier.goOn()
    return existsSync(copyOf(id))
  }
  const [deleted, moved] = [await work(one.host, one.project), await work(one.host, one.project)]
  for (const id of [deleted, moved]) {
    const session = await one.host.store.resume(id)
    remote.take('one', id, JSON.stringify({ session, status: null }))
    await expect.poll(() => isCopied(id)).toBe(true)
    // The machine has it still.
    await carrier.ended('one', id)
    expect(existsSync(copyOf(id))).toBe(true)
  }
  await owners.give(moved, 'two', { move: 'move-1', seen: undefined })
  for (const id of [deleted, moved]) {
    remote.take('one', id, '')
    await carrier.ended('one', id)
  }
  expect([existsSync(copyOf(deleted)), existsSync(copyOf(moved))]).toEqual([false, true])
})

test('copies that cannot be removed are reported, and end nothing', async () => {
  const { link, machines, sendsCopies } = await twoMachines()
  const inTheWay = join(folder(), 'file')
  writeFileSync(inTheWay, '')
  sendsCopies('one', false)
  const faults: unknown[] = []
  const copies = new Copies({
    ...{ folder: inTheWay, link, machines, sessions: () => [], onFault: error => faults.push(error) },
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

test('a session whose project is away is not told as deleted: only one that was removed is, also by the next server', async () => {
  const { one } = await twoMachines()
  const home = folder()
  const said: string[] = []
  const link = {
    publish: async (_subject: string, body: Uint8Array) => void said.push(Buffer.from(body).toString()),
  } as unknown as Link
  const local = { host: one.host } as unknown as LocalMachine
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

  const status = { sessionId: id, projectRoot: one.project, phase: 'working' }
  remote.take('one', id, JSON.stringify({ session: await one.host.store.resume(id), status }))
  renameSync(one.project, `${one.project}-away`)
  own.mark(id)
  expect(await tell(own, id)).toEqual({ isEnd: false, isKnown: true })
  // It does not run.
  expect(remote.get(id)?.status).toBeNull()
  renameSync(`${one.project}-away`, one.project)

  // Discarded, and here until it cannot be restored any more.
  own.markRemoved(id)
  expect(await tell(own, id)).toEqual({ isEnd: false, isKnown: true })
  await one.host.deleteSession(id)
  own.markRemoved(id)
  await expect.poll(() => readFileSync(join(home, 'removed.json'), 'utf8')).toContain(id)
  // The server is killed before the hubs hear it.
  const next = new OwnSessions('one', home)
  await next.markAll({ host: { projects: () => [] } } as unknown as LocalMachine)
  expect(await tell(next, id)).toEqual({ isEnd: true, isKnown: false })
  expect(readFileSync(join(home, 'removed.json'), 'utf8')).toBe('[]')
})
