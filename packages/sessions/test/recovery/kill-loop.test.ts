import { afterAll, beforeAll, expect, test } from 'vitest'
import { range } from '../support/events.ts'
import { bundleHostProgram } from '../support/host-program.ts'
import { turnKillLoop } from '../support/turn-kill-loop.ts'

let program: Awaited<ReturnType<typeof bundleHostProgram>>
beforeAll(async () => {
  program = await bundleHostProgram()
})
afterAll(() => program.remove())

/** In each of two projects at once, and of agents that are kept. */
const [KILLS, KEPT_KILLS] = process.env.CHIRALITY_TEST_ALL ? [50, 15] : [12, 6]

test(`${2 * KILLS} hosts are killed in their turns: no message, no event lost or doubled, no process left`, {
  timeout: 600_000,
}, async () => {
  const loops = range(1, 2).map(seed => turnKillLoop(program.file, { kills: KILLS, seed }))
  for (const report of await Promise.all(loops)) {
    expect(report).toMatchObject({ kills: KILLS, problems: [] })
    expect(report.taken).toBeGreaterThan(KILLS / 5)
  }
})

test('so it is with an agent that is kept from turn to turn', { timeout: 600_000 }, async () => {
  const report = await turnKillLoop(program.file, { kills: KEPT_KILLS, seed: 3, keepAlive: true })
  expect(report).toMatchObject({ kills: KEPT_KILLS, problems: [] })
  expect(report.taken).toBeGreaterThan(KEPT_KILLS / 5)
})
