import type { UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { readProcess } from '../../src/process/system/process-table.ts'
import { collectAnd, expectOneEnd } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const isInit = (event: UIEvent) => event.type === 'session:init'

test('close waits until the last agent is gone, however stubborn', async () => {
  const harness = world.harness(world.fake('fake-claude-stubborn', 'SIGINT', 'SIGTERM'), {
    stop: { interruptGraceMs: 1, termGraceMs: 1 },
  })
  let pid = 0
  const reading = collectAnd(harness.startTurn(world.session(), 'Hi'), isInit, async () => {
    pid = Number(world.logs.find(({ event }) => event === 'process:spawn')?.data?.pid)
    expect(await isAlive(pid)).toBe(true)
    await harness.close()
    expect(await isAlive(pid)).toBe(false)
  })
  expect(expectOneEnd(await reading)).toEqual({ reason: 'killed' })
})

test('a harness without turns closes at once', async () => {
  await expect(world.harness('/nowhere').close()).resolves.toBeUndefined()
})

test('an answer to requests is refused, because it would never be asked for', async () => {
  const opts = { decide: async () => ({ behavior: 'allow' as const }) }
  const events = world.harness('/nowhere').startTurn(world.session(), 'Hi', opts)
  await expect(events.next()).rejects.toMatchObject({ code: 'unsupported' })
})

/** A dead process that waits to be noticed still answers to a plain signal. */
async function isAlive(pid: number): Promise<boolean> {
  const entry = await readProcess(pid)
  return entry !== undefined && !entry.zombie
}
