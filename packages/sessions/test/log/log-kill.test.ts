import { afterAll, beforeAll, expect, test } from 'vitest'
import { range } from '../support/events.ts'
import { bundleLog, killLoop } from '../support/kill-loop.ts'
import { useProject } from '../support/project.ts'

const project = useProject()
let built: Awaited<ReturnType<typeof bundleLog>>
beforeAll(async () => {
  built = await bundleLog()
})
afterAll(() => built.remove())

/** In each of four projects at once. */
const KILLS = process.env.CHIRALITY_TEST_ALL ? 25 : 6

test(`${4 * KILLS} deaths by SIGKILL: nothing acknowledged is lost, nothing comes twice`, {
  timeout: 600_000,
}, async () => {
  const { file: module } = built
  const loops = range(1, 4).map(seed => killLoop({ module, projectRoot: project.root, kills: KILLS, seed }))
  for (const report of await Promise.all(loops)) {
    expect(report).toMatchObject({ kills: KILLS, lost: [], misplaced: [] })
    expect(report.acknowledged).toBeGreaterThan(20 * KILLS)
  }
})
