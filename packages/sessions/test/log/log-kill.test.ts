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

test('100 deaths by SIGKILL: nothing acknowledged is lost, nothing comes twice', {
  timeout: 600_000,
}, async () => {
  const { file: module } = built
  const loops = range(1, 4).map(seed => killLoop({ module, projectRoot: project.root, kills: 25, seed }))
  for (const report of await Promise.all(loops)) {
    expect(report).toMatchObject({ kills: 25, lost: [], misplaced: [] })
    expect(report.acknowledged).toBeGreaterThan(500)
  }
})
