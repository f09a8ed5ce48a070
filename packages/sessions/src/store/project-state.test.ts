import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { range } from '../../test/support/events.ts'
import { useProject } from '../../test/support/project.ts'
import { budgetFile, claudeSessionFile, noteClaudeSession } from './project-state.ts'

const project = useProject()
const json = (name: string) => JSON.parse(readFileSync(project.file('state', name), 'utf8'))

test('what a role used last is noted beside the others', async () => {
  expect(await claudeSessionFile.read(project.root)).toEqual({ updated_at: null })
  await noteClaudeSession(project.root, 'planner', 'n1')
  await noteClaudeSession(project.root, 'coder', 'n2')
  expect(json('claude-session.json')).toEqual({
    planner_session_id: 'n1',
    coder_session_id: 'n2',
    updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
  })
  expect(await claudeSessionFile.read(project.root)).toEqual(json('claude-session.json'))
})

test('a hundred costs at once add up', async () => {
  const spend = () =>
    budgetFile.update(project.root, state => ({
      ...state,
      total_cost_usd: state.total_cost_usd + 1,
      iterations: state.iterations + 1,
    }))
  await Promise.all(range(1, 100).map(spend))
  expect(json('budget.json')).toEqual({
    total_cost_usd: 100,
    max_cost_usd: null,
    iterations: 100,
    max_iterations: null,
  })
  expect(readdirSync(project.file('state'))).toEqual(['budget.json'])
  expect(statSync(project.file('state/budget.json')).mode & 0o777).toBe(0o600)
})

test.each(['', '{', '{"total_cost_usd":"much"}', '{"total_cost_usd":-1}', '[]', 'null'])(
  'a file that holds %j is kept aside',
  async text => {
    await budgetFile.update(project.root, state => state)
    writeFileSync(project.file('state/budget.json'), text)
    expect(await budgetFile.read(project.root)).toMatchObject({ total_cost_usd: 0 })
    const [kept] = readdirSync(project.file('state'))
    expect(kept).toMatch(/^budget\.json\.corrupt-/)
    expect(readFileSync(project.file('state', kept ?? ''), 'utf8')).toBe(text)
  },
)

test('a symlink is neither read nor written through', async () => {
  await budgetFile.update(project.root, state => state)
  const target = `${project.root}/target`
  writeFileSync(target, '{"total_cost_usd":99}')
  const path = project.file('state/budget.json')
  writeFileSync(path, '')
  await budgetFile.read(project.root)
  symlinkSync(target, path)
  expect(await budgetFile.read(project.root)).toMatchObject({ total_cost_usd: 0 })
  await budgetFile.update(project.root, state => ({ ...state, total_cost_usd: 5 }))
  expect(readFileSync(target, 'utf8')).toBe('{"total_cost_usd":99}')
})

test('a project without state has none made by reading', async () => {
  await budgetFile.read(project.root)
  expect(readdirSync(project.root)).toEqual([])
})
