import { dirname, resolve } from 'node:path'
import { acpDescriptor, MARKER_VARIABLE } from '@chirality/runner'
import { expect, test } from 'vitest'
import { useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()

test('a conversation that is imported twice at the same time becomes one session', async () => {
  // An agent that keeps one conversation.
  const command = resolve('../runner/test/programs/fake-acp-keeper.mjs')
  const harness = await acpDescriptor({ name: 'keeper', command, args: [], env: ['FAKE_FOLDER'] }).create({
    environment: {
      ...{ PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: world.root },
      ...{ FAKE_FOLDER: world.project, [MARKER_VARIABLE]: world.marker },
    },
  })
  world.atEnd(() => harness.close())
  const host = world.host([harness])
  const outcomes = await Promise.allSettled(
    [1, 2, 3].map(() => host.importSession('acp-keeper', 'one', world.project)),
  )
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  const [session, ...others] = await host.store.list(world.project)
  expect(others).toEqual([])
  expect(outcomes[2]).toMatchObject({
    reason: { code: 'import-already-imported', sessionId: session?.id },
  })
})
