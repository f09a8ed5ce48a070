import { afterAll, beforeAll, expect, test } from 'vitest'
import { range } from '../support/events.ts'
import { bundleHostProgram } from '../support/host-program.ts'
import { turnKillLoop } from '../support/turn-kill-loop.ts'

let program: Awaited<ReturnType<typeof bundleHostProgram>>
beforeAll(async () => {
  program = await bundleHostProgram()
})
afterAll(() => program.remove())

test('100 hosts are killed in their turns: no message, no event lost or doubled, no process left', {
  timeout: 600_000,
}, async () => {
  const loops = range(1, 2).map(seed => turnKillLoop(program.file, { kills: 50, seed }))
  for (const report of await Promise.all(loops)) {
    expect(report).toMatchObject({ kills: 50, problems: [] })
    expect(report.taken).toBeGreaterThan(10)
  }
})

test('so it is with an agent that is kept from turn to turn', { timeout: 600_000 }, async () => {
  const report = await turnKillLoop(program.file, { kills: 15, seed: 3, keepAlive: true })
  expect(report).toMatchObject({ kills: 15, problems: [] })
  expect(report.taken).toBeGreaterThan(3)
})
