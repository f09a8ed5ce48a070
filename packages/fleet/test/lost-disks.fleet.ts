import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { FleetLocal } from '@chirality/centre'
import { SessionStore } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { OwnSessions } from '../src/own-sessions.ts'
import { subjects } from '../src/subjects.ts'
import { connect, folder, joined, startFleet } from './support/fleet.ts'
import { whenItWorks } from './support/nats.ts'

test('after the broker lost its disk a hub hears also of sessions that rest, of open and of closed projects', async () => {
  const fleet = await startFleet()
  const hub = await connect(fleet.hub)
  await hub.prepare()
  const worker = await connect((await joined(fleet, hub)).member)
  const store = new SessionStore({ home: folder() })
  const [open, closed] = [folder(), folder()]
  const ids = [(await store.create(open, null, 'direct')).id, (await store.create(closed, null, 'direct')).id]
  let projects = [open, closed]
  const host = { projects: () => projects, store, openSession: () => undefined }
  const local = { host, isDiscarded: () => false, toldByWork: () => undefined } as unknown as FleetLocal
  const own = new OwnSessions('worker', folder())
  await own.markAll(local)
  const beat = async () => {
    await own.beat(worker, local, { role: 'worker' } as Parameters<OwnSessions['beat']>[2])
    await own.markOpened(local)
    await own.tell(worker, local)
  }
  const told = async () => (await hub.subjectsOf('state')).sort()
  const all = [subjects.presence('worker'), ...ids.map(id => subjects.session('worker', id))].sort()
  await beat()
  expect(await told()).toEqual(all)
  projects = [open]
  await beat()

  await fleet.stop()
  rmSync(join(fleet.home, 'fleet', 'broker', 'store'), { recursive: true })
  await fleet.restart()
  await whenItWorks(() => hub.prepare())
  // Other machines have told more than this one ever did.
  for (let count = 0; count < 50; count += 1) await hub.publish(subjects.presence('hub'), Buffer.from('{}'))
  await whenItWorks(beat)
  expect(await told()).toEqual([subjects.presence('hub'), ...all].sort())

  // The same stream as before: nothing is told again.
  const { seq } = (await hub.publish(subjects.presence('hub'), Buffer.from('{}'))) as { seq: number }
  await beat()
  expect((await hub.publish(subjects.presence('hub'), Buffer.from('{}'))) as { seq: number }).toMatchObject({
    seq: seq + 2,
  })
})
