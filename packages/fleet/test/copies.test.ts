import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openSessionLog } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { Carrier } from '../src/move/carrier.ts'
import { RemoteSessions } from '../src/remote-sessions.ts'
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
