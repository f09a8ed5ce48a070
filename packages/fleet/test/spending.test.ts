import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Machine } from '../src/machines.ts'
import { FleetSpending, storedSpending } from '../src/spending.ts'
import type { ProjectSpent } from '../src/spent-list.ts'
import { folder, later } from './support/fleet.ts'

const spent = (key: string, usd: number): ProjectSpent => ({
  ...{ key, usd, tokens: 10, unpricedTokens: 0, ms: 1000, turns: 1 },
})

/** Its file is written before the folder goes. */
function spendingOf(at: string, own: string): FleetSpending {
  const spending = new FleetSpending(at, own)
  later(() => spending.close())
  return spending
}

function home(): string {
  const made = folder()
  mkdirSync(join(made, 'fleet'))
  return made
}

test('what was told is kept for the time when the broker is away, without what this machine spent itself', async () => {
  const at = home()
  const spending = spendingOf(at, 'hub')
  spending.heard('hub', [spent('shop', 9)], new Date())
  spending.heard('build-1', [spent('shop', 2), spent('other', 5)], new Date(0))
  const known = [{ machine: 'build-1', usd: 2, at: new Date(0).toISOString() }]
  expect(spending.elsewhere('shop')).toMatchObject(known)
  expect(spending.elsewhere('nothing')).toEqual([])
  await expect.poll(() => storedSpending(at, 'shop', 'hub')).toMatchObject(known)
  const next = spendingOf(at, 'hub')
  expect(next.elsewhere('shop')).toMatchObject(known)
  // The broker has the last beat of a machine that is away: its time is not known, but for one that was heard before.
  next.heard('build-1', [spent('shop', 2), spent('other', 5)], null)
  expect(next.elsewhere('shop')).toMatchObject(known)
  next.heard('build-1', [spent('shop', 3)], null)
  expect(next.elsewhere('shop')).toMatchObject([{ usd: 3, at: null }])
})

test('a hub tells each machine that is there what the others spent on its projects', async () => {
  const spending = spendingOf(home(), 'hub')
  const named: [string, number][] = [
    ['hub', 1],
    ['build-1', 2],
    ['build-2', 4],
  ]
  for (const [name, usd] of named) spending.heard(name, [spent('shop', usd), spent('own', 7)], new Date())
  const said: { subject: string; told: { machine: string; spent: ProjectSpent[] }[] }[] = []
  const send = async (subject: string, told: (typeof said)[number]['told']) =>
    void said.push({ subject, told })
  const machine = (name: string, state: string, isThis = false) =>
    ({
      ...{ machine: name, state, isThis },
      repositories: [{ root: '/x', key: 'shop' }],
    }) as unknown as Machine
  spending.tell([machine('hub', 'here', true), machine('build-1', 'here'), machine('build-2', 'away')], send)
  expect(said.map(({ subject }) => subject)).toEqual(['build-1'])
  expect(
    said[0]?.told.map(({ machine, spent }) => [machine, spent.map(({ key, usd }) => [key, usd])]),
  ).toEqual([
    ['hub', [['shop', 1]]],
    ['build-2', [['shop', 4]]],
  ])
  const worker = spendingOf(home(), 'build-1')
  worker.take(said[0]?.told)
  expect(worker.elsewhere('shop')).toMatchObject([
    { machine: 'hub', usd: 1, at: expect.any(String) },
    { machine: 'build-2', usd: 4 },
  ])
})

test.each([
  [undefined],
  ['x'],
  [[{ machine: '../x', ageMs: 0, spent: [] }]],
  [[{ machine: 'a', ageMs: -1, spent: [] }]],
  [[{ machine: 'a', ageMs: 0, spent: [{ key: 'shop', usd: -5 }] }]],
  [[{ machine: 'a', ageMs: 0, spent: [{ ...spent('shop', 1), tokens: 1e300 }] }]],
])('what is malformed is refused, and changes nothing: %j', told => {
  const spending = spendingOf(home(), 'hub')
  expect(() => spending.take(told)).toThrow()
  expect(spending.elsewhere('shop')).toEqual([])
})

test('a damaged file is as none', async () => {
  const at = home()
  writeFileSync(join(at, 'fleet', 'spent.json'), '{"a":{"at":"yesterday"}}')
  const spending = spendingOf(at, 'hub')
  expect(spending.elsewhere('shop')).toEqual([])
  spending.heard('build-1', [spent('shop', 1)], new Date())
  await expect.poll(() => readFileSync(join(at, 'fleet', 'spent.json'), 'utf8')).toContain('build-1')
})
