import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { acpDescriptor, ClaudeCodeHarness, MARKER_VARIABLE } from '@chirality/runner'
import { expect, test } from 'vitest'
import { useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()

test('a conversation that is imported twice at the same time becomes one session', async () => {
  // An agent that keeps one conversation.
  const command = resolve('../runner/test/programs/fake-acp-keeper.mjs')
  const harness = await acpDescriptor({ name: 'keeper', command, args: [], env: ['FAKE_FOLDER'] }).create({
    environment: {
      PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
      HOME: world.root,
      FAKE_FOLDER: world.project,
      [MARKER_VARIABLE]: world.marker,
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

test('a conversation of another folder is not imported, and that folder is not opened', async () => {
  const elsewhere = join(world.root, 'elsewhere')
  const id = randomUUID()
  const kept = join(world.root, '.claude', 'projects', 'elsewhere')
  for (const folder of [elsewhere, kept]) mkdirSync(folder, { recursive: true })
  const facts = { sessionId: id, uuid: randomUUID(), parentUuid: null, timestamp: '2026-01-01T00:00:00.000Z' }
  const line = { type: 'user', cwd: elsewhere, ...facts, message: { role: 'user', content: 'Hi' } }
  writeFileSync(join(kept, `${id}.jsonl`), `${JSON.stringify(line)}\n`)
  const host = world.host([new ClaudeCodeHarness({ environment: { HOME: world.root } })])
  await expect(host.importSession('claude-code', id, world.project)).rejects.toMatchObject({
    code: 'session_not_found',
    message: expect.stringContaining(world.project),
  })
  expect(await host.store.list(world.project)).toEqual([])
  expect(readdirSync(elsewhere)).toEqual([])
  expect((await host.importSession('claude-code', id, elsewhere)).claudeSessionId).toBe(id)
})
