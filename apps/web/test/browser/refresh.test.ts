import { expect, test } from 'vitest'
import type { LooseEvent } from '../support/canned-api.ts'
import { useDashboard } from '../support/page.ts'
import { aBusyDay } from '../support/scenes.ts'

/** Panes that look again after each result of a tool: never twice at a time, never for nobody, and the last state is shown. */
const dashboard = useDashboard()

/** Commands and searches in turn: calls of one kind in a row would become one line. */
function step(i: number): LooseEvent[] {
  const toolUseId = `step${i}`
  const call =
    i % 2 === 0
      ? { name: 'Bash', input: { command: `step ${i}` } }
      : { name: 'Grep', input: { pattern: `step ${i}` } }
  return [
    { type: 'tool:start', toolUseId, ...call },
    { type: 'tool:result', toolUseId, content: `done ${i}`, isError: false },
  ]
}

test('changes are asked for one at a time, and the last ones are shown', async () => {
  const { page, api, complaints, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  await page.getByRole('tab', { name: 'Changes 1' }).waitFor()
  const release = api.hold('files.diff')
  const before = api.called('files.diff').length
  api.push('s1', step(0))
  await expect.poll(() => api.called('files.diff')).toHaveLength(before + 1)
  for (let i = 1; i < 40; i++) {
    api.push('s1', step(i))
    await page.getByText(`step ${i}`, { exact: true }).last().waitFor()
  }
  expect(api.called('files.diff')).toHaveLength(before + 1)
  api.patch = api.patch.replace('const last = end > start &&', 'const newest = end > start &&')
  release()
  await page.getByRole('group', { name: 'Changes in src/ndjson.ts' }).getByText('const newest').waitFor()
  expect(api.called('files.diff').length).toBeLessThanOrEqual(before + 2)
  expect(complaints).toEqual([])
  await close()
})

test('the tree of files is read one at a time, and a new file is in it', async () => {
  const { page, api, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  await page.getByRole('tab', { name: 'Files' }).click()
  await page.getByRole('treeitem', { name: 'src' }).waitFor()
  const release = api.hold('files.tree')
  const before = api.called('files.tree').length
  api.push('s1', step(0))
  await expect.poll(() => api.called('files.tree')).toHaveLength(before + 1)
  for (let i = 1; i < 10; i++) {
    api.push('s1', step(i))
    await page.getByText(`step ${i}`, { exact: true }).last().waitFor()
  }
  expect(api.called('files.tree')).toHaveLength(before + 1)
  release()
  api.files[''] = [...(api.files[''] ?? []), { name: 'made.txt', kind: 'file' }]
  await page.getByRole('treeitem', { name: 'made.txt' }).waitFor()
  expect(api.called('files.tree').length).toBeLessThanOrEqual(before + 2)
  await close()
})

test('where the panes are a sheet, nothing is asked for before it is opened', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: aBusyDay,
    viewport: { width: 900, height: 800 },
  })
  await page.getByText('Run this command?').waitFor()
  api.push('s1', step(0))
  await page.getByText('step 0', { exact: true }).last().waitFor()
  await page.getByRole('button', { name: 'Changes and more' }).click()
  await page.getByRole('group', { name: 'Changes in src/ndjson.test.ts' }).waitFor()
  expect(api.called('files.diff')).toHaveLength(1)
  await close()
})
