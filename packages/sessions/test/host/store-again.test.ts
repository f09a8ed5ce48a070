import { renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { useHostWorld } from '../support/host-world.ts'
import { answers, ScriptedHarness } from '../support/scripted-harness.ts'

const world = useHostWorld()

test('a session that could not be stored at the end of its turn is stored as soon as it can be', async () => {
  let folder = ''
  const harness = new ScriptedHarness([
    async function* (turn) {
      for await (const event of answers('Done.')(turn)) {
        if (event.type === 'turn:end') {
          renameSync(folder, `${folder}.away`)
          writeFileSync(folder, '')
        }
        yield event
      }
    },
  ])
  const host = world.host([harness])
  folder = path.join(world.project, '.chirality', 'sessions')
  const { id } = await host.createSession(world.project)
  const session = await host.session(id)
  await session.start('Go')
  await session.settled()
  rmSync(folder)
  renameSync(`${folder}.away`, folder)
  await expect.poll(async () => (await host.store.resume(id)).lastTurn).toBe('completed')
})
