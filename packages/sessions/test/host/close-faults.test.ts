import { realFileOps } from '@chirality/disk'
import { expect, test } from 'vitest'
import { ProjectLockedError } from '../../src/lock/project-lock.ts'
import { openSessionLog } from '../../src/log/open-logs.ts'
import { useHostWorld } from '../support/host-world.ts'
import { ScriptedHarness } from '../support/scripted-harness.ts'

const world = useHostWorld()

class ClosableHarness extends ScriptedHarness {
  isClosed = false

  override async close(): Promise<void> {
    this.isClosed = true
  }
}

/** A session whose log holds an event that its disk has no room for. */
async function openOnFullDisk() {
  const harness = new ClosableHarness([])
  const host = world.host([harness])
  const { id } = await host.createSession(world.project)
  const disk = { isFull: false }
  const write: typeof realFileOps.write = (fd, bytes) => {
    if (disk.isFull) throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
    return realFileOps.write(fd, bytes)
  }
  const log = await openSessionLog(world.project, id, { ops: { ...realFileOps, write } })
  await host.session(id)
  disk.isFull = true
  log.append(
    { type: 'status', sessionId: id, status: 'notice', level: 'info', message: 'x' },
    { turnId: null },
  )
  await expect(log.flush()).rejects.toMatchObject({ code: 'no-space' })
  // From here on the host is the only one that has it.
  await log.close()
  return { host, harness, id }
}

test('a log that cannot be written completely is reported, and the project and its agents are still closed', async () => {
  const { host, harness, id } = await openOnFullDisk()
  await expect(host.close()).rejects.toMatchObject({ code: 'no-space' })
  expect(harness.isClosed).toBe(true)
  expect(host.statuses()).toEqual([])
  const next = world.host([new ScriptedHarness([])])
  await next.openProject(world.project)
  expect((await next.session(id)).status.phase).toBe('idle')
})

test('a session is deleted also when its disk is full', async () => {
  const { host, id } = await openOnFullDisk()
  await host.deleteSession(id)
  expect(await host.store.get(id)).toBeUndefined()
})

test('a session of a project that another host owns is not deleted', async () => {
  const owner = world.host([new ScriptedHarness([])])
  const { id } = await owner.createSession(world.project)
  const other = world.host([new ScriptedHarness([])])
  await expect(other.deleteSession(id)).rejects.toBeInstanceOf(ProjectLockedError)
  expect(await owner.store.get(id)).toMatchObject({ id })
})
