import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { lockProject } from '../../src/lock/project-lock.ts'
import { useHostWorld } from '../support/host-world.ts'
import { ScriptedHarness, waits } from '../support/scripted-harness.ts'

const world = useHostWorld()

test('a host whose project another one took over writes no more, and leaves the agents to it', async () => {
  const harness = new ScriptedHarness([waits()])
  const host = world.host([harness])
  const session = await host.session((await host.createSession(world.project)).id)
  await session.start('Go')
  rmSync(world.file('lock'), { recursive: true })
  const other = await lockProject(world.project, { address: 'http://127.0.0.1:5000' })
  world.atEnd(() => other.release())
  while (host.projects().length > 0) await new Promise(setImmediate)
  while (host.statuses().length > 0) await new Promise(setImmediate)
  expect(harness.isRunning(session.id)).toBe(true)
  await expect(session.start('More')).rejects.toMatchObject({ code: 'closed' })
})
