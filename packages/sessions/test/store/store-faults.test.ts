import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StorageError } from '@chirality/disk'
import { expect, test } from 'vitest'
import { SessionStore } from '../../src/store/session-store.ts'
import { FAULTS, type FaultKind, FaultyOps } from '../support/faulty-ops.ts'
import { useProject } from '../support/project.ts'

const project = useProject()

test.each(FAULTS)('%s at every file operation leaves a session as it was, or as it should be', async kind => {
  let k = 1
  while (await survives(kind, k)) k += 1
  expect(k).toBeGreaterThan(20)
})

/** False when the work took fewer than k operations. */
async function survives(kind: FaultKind, k: number): Promise<boolean> {
  rmSync(project.file(), { recursive: true, force: true })
  const home = mkdtempSync(join(tmpdir(), 'chirality-home-'))
  try {
    const { id } = await new SessionStore({ home }).create(project.root, null, 'direct', { title: 'Old' })
    const faulty = new FaultyOps(kind, k, 'once')
    const store = new SessionStore({ home, ops: faulty.ops })
    const failures: unknown[] = []
    const attempt = <T>(work: Promise<T>) => work.catch((error: unknown) => failures.push(error))
    await attempt(store.update(id, { title: 'New' }))
    await attempt(store.list(project.root))
    await attempt(store.create(project.root, null, 'direct'))
    for (const error of failures) expect(error).toBeInstanceOf(StorageError)

    const again = new SessionStore({ home })
    const { title } = await again.resume(id)
    expect(failures.length === 0 ? ['New'] : ['Old', 'New']).toContain(title)
    expect((await again.list(project.root)).map(session => session.id)).toContain(id)
    expect(readdirSync(project.file('sessions')).filter(name => name.includes('tmp'))).toEqual([])
    return faulty.wasReached
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
