import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { range } from '../../test/support/events.ts'
import { useProject } from '../../test/support/project.ts'
import { BudgetBook } from './budget-book.ts'
import { readPrices } from './user-prices.ts'

const project = useProject()
const home = () => `${project.root}/data`
const open = () => new BudgetBook({ home: home() })
const file = () => project.file('state', 'budget.json')
const json = () => JSON.parse(readFileSync(file(), 'utf8'))
const copies = () => readdirSync(join(home(), 'budgets')).map(name => join(home(), 'budgets', name))
const spent = { usd: 1, tokens: 10, unpricedTokens: 0, ms: 30_000 }

test('a hundred turns at once add up, and a turn reported twice counts once', async () => {
  const book = open()
  await Promise.all(range(1, 100).map(i => book.count(project.root, `t${i}`, spent)))
  await book.count(project.root, 't100', spent)
  expect(json()).toMatchObject({
    total_cost_usd: 100,
    total_tokens: 1000,
    total_minutes: 50,
    iterations: 100,
    max_cost_usd: null,
  })
  expect(readdirSync(project.file('state'))).toEqual(['budget.json'])
  expect(statSync(file()).mode & 0o777).toBe(0o600)
  expect(statSync(copies()[0] ?? '').mode & 0o777).toBe(0o600)
})

test('two programs that count at the same time lose nothing', async () => {
  const count = (who: string) =>
    Promise.all(range(1, 20).map(i => open().count(project.root, `${who}${i}`, spent)))
  await Promise.all([count('a'), count('b')])
  expect(json()).toMatchObject({ total_cost_usd: 40, iterations: 40 })
  expect(copies()).toHaveLength(1)
})

test.each([
  ['deleted', () => rmSync(file())],
  ['emptied', () => writeFileSync(file(), '')],
  ['junk', () => writeFileSync(file(), '{"total_cost_usd":"much"}')],
  ['raised by an agent', () => writeFileSync(file(), '{"total_cost_usd":0,"max_cost_usd":1000}')],
  [
    'a link',
    () => {
      rmSync(file())
      symlinkSync('/dev/null', file())
    },
  ],
])('a limit and what was spent stay when the file of the project is %s', async (_how, damage) => {
  await open().setLimits(project.root, { max_cost_usd: 5, max_tokens: 70 })
  await open().count(project.root, 't1', spent)
  damage()
  const { state } = await open().read(project.root)
  expect(state).toMatchObject({ total_cost_usd: 1, max_cost_usd: 5, max_tokens: 70, iterations: 1 })
  await open().count(project.root, 't2', spent)
  expect(json()).toMatchObject({ total_cost_usd: 2, max_cost_usd: 5, iterations: 2 })
})

test('an unreadable file is reported and renamed', async () => {
  await open().setLimits(project.root, { max_cost_usd: 5 })
  writeFileSync(file(), '{')
  expect((await open().read(project.root)).problem).toContain(file())
  await open().count(project.root, 't1', spent)
  expect(readdirSync(project.file('state')).sort()).toEqual([
    'budget.json',
    expect.stringMatching(/^budget\.json\.corrupt-/),
  ])
  expect((await open().read(project.root)).problem).toBeUndefined()
})

test('unreadable limits do not count as no limits: reading throws until they are set again', async () => {
  mkdirSync(project.file('state'), { recursive: true })
  writeFileSync(file(), 'junk')
  await expect(open().read(project.root)).rejects.toThrow(/budget\.json cannot be read.*chirality budget set/)
  await expect(open().count(project.root, 't1', spent)).rejects.toThrow('cannot be read')
  await open().setLimits(project.root, { max_cost_usd: 3 })
  expect((await open().read(project.root)).state).toMatchObject({ max_cost_usd: 3 })
})

test('a limit that is written into the file of the project narrows', async () => {
  await open().setLimits(project.root, { max_cost_usd: 5 })
  writeFileSync(file(), '{"total_cost_usd":0,"max_cost_usd":2}')
  expect((await open().read(project.root)).state.max_cost_usd).toBe(2)
  await open().setLimits(project.root, { max_cost_usd: 9 })
  expect((await open().read(project.root)).state.max_cost_usd).toBe(9)
})

test('a project without state has none made by reading', async () => {
  expect((await open().read(project.root)).state).toMatchObject({ total_cost_usd: 0, max_cost_usd: null })
  expect(readdirSync(project.root)).toEqual([])
})

test('prices of the user are added to ours, and a mistake names file and field', () => {
  mkdirSync(home(), { recursive: true })
  const path = join(home(), 'prices.json')
  writeFileSync(path, '{"local-7b": {"input": 0, "output": 0}}')
  expect(readPrices(home())).toMatchObject({ 'local-7b': { input: 0 }, 'gpt-6.1-sol': { input: 2 } })
  writeFileSync(path, '{"local-7b": {"input": "free"}}')
  expect(() => readPrices(home())).toThrow(`${path}: "local-7b".input must be a number`)
})
