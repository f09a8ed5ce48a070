import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { claudeBinaries } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { useWorld } from './support/world.ts'

describe.each(claudeBinaries())('AGENTS.md and Claude Code $version', ({ path: binary, version }) => {
  const world = useWorld()

  test.each([
    { trustProject: false, claudeFile: false },
    { trustProject: true, claudeFile: false },
    { trustProject: true, claudeFile: true },
  ])('what is said of it is what the model gets: %o', async ({ trustProject, claudeFile }) => {
    const model = await world.model({ otherwise: 'Hello.' })
    writeFileSync(path.join(world.project, 'AGENTS.md'), 'Herons are grey.')
    if (claudeFile) writeFileSync(path.join(world.project, 'CLAUDE.md'), 'Owls are brown.')
    const harness = world.harness(binary, { model })
    const says = await harness.readsAgentsFile?.(world.project, { trustProject })
    for await (const _ of harness.startTurn(world.session(), 'Hi', { trustProject })) {
      // Only what the model got matters.
    }
    const got = JSON.stringify(model.requests.map(({ body }) => body)).includes('Herons are grey.')
    expect(says).toBe(got)
    expect(got).toBe(version !== '2.1.197' && trustProject && !claudeFile)
  })
})
