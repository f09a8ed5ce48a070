import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
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
  const size = () => bytesIn(join(brokerFolder(fleet.home), 'store'))
  for (let n = 1; n <= LOOPS; n += 1) await runLoop(`list-${n}`)
  const left = (await link.subjectsOf('claims')).filter(subject => subject !== subjects.claim('probe-hub'))
  expect(left.sort()).toEqual([subjects.openGroups('hub'), subjects.claim('open-1-1')])
  console.log(`${LOOPS} loops: ${size()} bytes in the files of the broker`)
  // The broker's files keep what was removed until they are written anew: 2 MB after 1,000 loops, 4 MB after 8,000.
  expect(size()).toBeLessThan(ROOM)
  // A group that is over is over for every machine, and an open one is not.
  const worker = new Claims(link, 'worker')
  expect(await worker.isOver({ hub: 'hub', list: open.list, group: 'list-3', number: 4 })).toBe(true)
  expect(await worker.isOver(open)).toBe(false)
  expect(await worker.isOver({ ...open, list: 'of brokers with other disks' })).toBe(false)
})

test('a worker cannot purge claims, and no hub can purge logs', { timeout: 120_000 }, async () => {
  const fleet = await startFleet()
  const hub = await connect(fleet.hub)
  await hub.prepare()
  const worker = await connect((await joined(fleet, hub)).member)
  const claims = new Claims(hub, 'worker')
  await claims.step('list-1', { kind: 'take' })
  const refused = { code: 'fleet-refused', message: expect.stringContaining('may not remove') }
  await expect(worker.purge('claims', subjects.claim('list-1'), 100)).rejects.toMatchObject(refused)
  expect(await claims.read('list-1')).toMatchObject({ machine: 'worker' })
  await expect(hub.purge('events', subjects.events('worker', 's'), 100)).rejects.toMatchObject(refused)
  await hub.purge('claims', subjects.claim('list-1'), 100)
  expect(await claims.read('list-1')).toBeUndefined()
})

function bytesIn(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return 0
  if (!found.isDirectory()) return found.size
  return readdirSync(path).reduce((sum, name) => sum + bytesIn(join(path, name)), 0)
}

const ROOM = 8_000_000
