import { mkdirSync, readdirSync, renameSync, rmdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { Claims } from '../src/claim/claims.ts'
import { WorkGroups } from '../src/claim/groups.ts'
import { brokerFolder } from '../src/engine/fleet-files.ts'
import { subjects } from '../src/subjects.ts'
import { connect, folder, joined, startFleet } from './support/fleet.ts'

const LOOPS = Number(process.env.CHIRALITY_LOOPS ?? 20)

test(`after ${LOOPS} loops the broker has the claims of the one that is open, and no other`, {
  timeout: 120_000 + LOOPS * 1_000,
}, async () => {
  const fleet = await startFleet()
  const link = await connect(fleet.hub)
  await link.prepare()
  const groups = new WorkGroups({ own: 'hub', file: join(folder(), 'groups.json'), store: () => link })
  const runLoop = async (loop: string) => {
    const of = await groups.open(loop, '/shop')
    for (const task of ['1', '2', '3']) {
      const claims = new Claims(link, 'worker')
      await claims.step(`${loop}-${task}`, { kind: 'take', of })
      await claims.step(`${loop}-${task}`, { kind: 'finish', epoch: 1 })
    }
    await groups.end(loop)
    await groups.finish()
  }
  const open = await groups.open('open-1', '/shop')
  await new Claims(link, 'worker').step('open-1-1', { kind: 'take', of: open })
  for (let n = 1; n <= LOOPS; n += 1) await runLoop(`list-${n}`)
  const left = (await link.subjectsOf('claims')).filter(subject => subject !== subjects.claim('probe-hub'))
  expect(left.sort()).toEqual([subjects.openGroups('hub'), subjects.claim('open-1-1')])
  // For docs/performance.md. They keep what was removed until they are written anew, so their size proves nothing here.
  const size = bytesIn(join(brokerFolder(fleet.home), 'store'))
  if (process.env.CHIRALITY_LOOPS) console.log(`${LOOPS} loops: ${size} bytes in the files of the broker`)
  // A group that is over is over for every machine, and an open one is not.
  const worker = new Claims(link, 'worker')
  expect(await worker.isOver({ hub: 'hub', list: open.list, group: 'list-3', number: 4 })).toBe(true)
  expect(await worker.isOver(open)).toBe(false)
  expect(await worker.isOver({ ...open, list: 'of brokers with other disks' })).toBe(false)
})

test('a hub that cannot read or write its file removes nothing, and one that lost it ends no task of a machine', {
  timeout: 120_000,
}, async () => {
  const fleet = await startFleet()
  const link = await connect(fleet.hub)
  await link.prepare()
  const file = join(folder(), 'groups.json')
  const faults: unknown[] = []
  const process = () =>
    new WorkGroups({ own: 'hub', file, store: () => link, onFault: error => faults.push(error) })
  const worker = new Claims(link, 'worker')
  const first = process()
  const of = await first.open('list-1', '/shop')
  const unused = await first.open('unused-1', '/shop')
  await worker.step('list-1-1', { kind: 'take', of })

  // A folder is in the place of the file: no way to write can replace it, not even root's.
  renameSync(file, `${file}.kept`)
  mkdirSync(file)
  const unwritten = { code: 'work-failed', message: expect.stringContaining(`${file} cannot be written`) }
  await expect(first.end('list-1')).rejects.toMatchObject(unwritten)
  await first.finish()
  expect(await worker.isOver(of)).toBe(false)
  expect(first.list().map(({ group }) => group)).toEqual(['list-1', 'unused-1'])
  await expect(first.open('list-2', '/shop')).rejects.toMatchObject(unwritten)
  expect(first.list()).toHaveLength(2)

  const second = process()
  const unread = { code: 'work-failed', message: expect.stringContaining(`${file} cannot be read`) }
  expect(() => second.list()).toThrow(expect.objectContaining(unread))
  await expect(second.finish()).rejects.toMatchObject(unread)
  await expect(second.open('list-1', '/shop')).rejects.toMatchObject(unread)
  second.finishSoon()
  await vi.waitFor(() => expect(faults).toEqual([expect.objectContaining(unread)]), 30_000)
  expect(await worker.isOver(of)).toBe(false)
  expect(await worker.isOver(unused)).toBe(false)
  rmdirSync(file)

  const third = process()
  await third.finish()
  expect(third.list()).toMatchObject([{ group: 'list-1', project: null }])
  expect(await worker.isOver(of)).toBe(false)
  expect(await worker.isOver(unused)).toBe(true)
  expect(await worker.read('list-1-1')).toMatchObject({ machine: 'worker', done: false })
  // The loop goes on with it, and ends.
  expect(await third.open('list-1', '/shop')).toEqual(of)
  expect(process().list()).toMatchObject([{ group: 'list-1', project: '/shop' }])
  await third.end('list-1')
  await third.finish()
  expect(await worker.read('list-1-1')).toBeUndefined()
  expect(await worker.isOver(of)).toBe(true)
})

test('a worker can purge nothing', { timeout: 120_000 }, async () => {
  const fleet = await startFleet()
  const hub = await connect(fleet.hub)
  await hub.prepare()
  const worker = await connect((await joined(fleet, hub)).member)
  const claims = new Claims(hub, 'worker')
  await claims.step('list-1', { kind: 'take' })
  const refused = { code: 'fleet-refused', message: expect.stringContaining('lacks the right to remove') }
  await expect(worker.purge('claims', subjects.claim('list-1'), 100)).rejects.toMatchObject(refused)
  expect(await claims.read('list-1')).toMatchObject({ machine: 'worker' })
  await expect(worker.purge('events', subjects.events('worker', 's'))).rejects.toMatchObject(refused)
  await expect(worker.purge('state', subjects.all('worker'))).rejects.toMatchObject(refused)
  await hub.purge('claims', subjects.claim('list-1'), 100)
  expect(await claims.read('list-1')).toBeUndefined()
})

function bytesIn(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return 0
  if (!found.isDirectory()) return found.size
  return readdirSync(path).reduce((sum, name) => sum + bytesIn(join(path, name)), 0)
}
