import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { MachineState } from '../src/claim/presence.ts'
import { Machines } from '../src/machines.ts'
import { FleetSpending, storedSpending } from '../src/spending.ts'
import { NOTHING_SPENT, type ProjectSpent, summedSpending, type ToldSpending } from '../src/spent-list.ts'
import type { Role } from '../src/subjects.ts'
import { folder, later } from './support/fleet.ts'

const spent = (key: string, usd: number): ProjectSpent => ({
  key,
  usd,
  tokens: 10,
  unpricedTokens: 0,
  ms: 1000,
  turns: 1,
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

test('reported spending is kept while the broker is away, without the spending of this machine', async () => {
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

test('a machine that does not name a project any more has spent what it had, and no amount falls', async () => {
  const at = home()
  const spending = spendingOf(at, 'hub')
  const then = new Date(Date.now() - 60_000)
  const now = new Date()
  spending.heard('build-1', [spent('shop', 8), spent('other', 1)], then)
  // It was started again without the project.
  spending.heard('build-1', [spent('other', 2)], now)
  expect(spending.elsewhere('shop')).toMatchObject([{ usd: 8, at: then.toISOString() }])
  expect(spending.elsewhere('other')).toMatchObject([{ usd: 2, at: now.toISOString() }])
  spending.heard('build-1', [], now)
  // Another hub heard less, and later.
  spending.heard('build-1', [spent('shop', 5)], now)
  expect(spending.elsewhere('shop')).toMatchObject([{ usd: 8, at: then.toISOString() }])
  // The same, heard earlier.
  spending.heard('build-1', [spent('other', 2)], then)
  expect(spending.elsewhere('other')).toMatchObject([{ usd: 2, at: now.toISOString() }])
  await expect.poll(() => storedSpending(at, 'shop', 'hub')).toMatchObject([{ usd: 8 }])
  expect(spendingOf(at, 'hub').elsewhere('shop')).toMatchObject([{ usd: 8 }])
})

test('several clones of a project are one sum, which stays within what can be sent', () => {
  const huge = { ...spent('huge', 1e308), tokens: 1e300, ms: Number.POSITIVE_INFINITY }
  expect(summedSpending([spent('shop', 2), huge, spent('shop', 3), huge])).toEqual([
    { key: 'shop', usd: 5, tokens: 20, unpricedTokens: 0, ms: 2000, turns: 2 },
    {
      key: 'huge',
      usd: Number.MAX_SAFE_INTEGER,
      tokens: Number.MAX_SAFE_INTEGER,
      unpricedTokens: 0,
      ms: Number.MAX_SAFE_INTEGER,
      turns: 2,
    },
  ])
})

test('an entry of a beat that is not valid costs neither the beat nor the other entries', () => {
  const said = {
    role: 'worker',
    version: '1.0.0',
    labels: [],
    slots: 1,
    busy: 0,
    load: 0,
    projects: ['/shop'],
    agents: [{ id: 'a', name: 'A', installed: true, loggedIn: true, version: 'v'.repeat(5000) }, 'junk'],
    repositories: [
      { root: '/shop', key: 'shop' },
      { root: '/long', key: 'k'.repeat(1001) },
    ],
    spent: [
      ...[spent('k'.repeat(1001), 1), { ...spent('bad', 1), usd: -1 }, null, spent('shop', 2)],
      { ...spent('huge', 1), tokens: 1e300 },
    ],
  }
  const machines = new Machines('hub')
  machines.connected(true)
  expect(machines.heard('build-1', Buffer.from(JSON.stringify(said)), true)).toMatchObject({
    agents: [{ id: 'a', version: null }],
    repositories: [{ root: '/shop', key: 'shop' }],
    spent: [spent('shop', 2), { ...spent('huge', 1), tokens: Number.MAX_SAFE_INTEGER }],
  })
  expect(machines.list()).toMatchObject([{ machine: 'build-1', state: 'here' }])
})

test('a hub tells each machine that is there what the others spent on its projects', async () => {
  const spending = spendingOf(home(), 'hub')
  const named: [string, number][] = [
    ['hub', 1],
    ['build-1', 2],
    ['build-2', 4],
  ]
  for (const [name, usd] of named)
    spending.heard(name, [spent('shop', usd), spent(`own of ${name}`, 7)], new Date())
  const said: { to: string; told: ToldSpending }[] = []
  const send = async (to: string, told: ToldSpending) => void said.push({ to, told })
  spending.heard('build-1', [{ ...NOTHING_SPENT, key: 'new' }], new Date())
  spending.heard('hub-2', [{ ...NOTHING_SPENT, key: 'shop' }], new Date())
  const machine = (name: string, state: MachineState, role: Role = 'worker') => ({
    machine: name,
    state,
    role,
    isThis: name === 'hub',
  })
  // Another hub hears the beats itself.
  const others = [machine('hub', 'here', 'hub'), machine('hub-2', 'here', 'hub')]
  spending.tell([...others, machine('build-1', 'here'), machine('build-2', 'away')], send)
  expect(said.map(({ to }) => to)).toEqual(['build-1'])
  expect(said[0]?.told.map(({ machine, key, usd }) => [machine, key, usd])).toEqual([
    ['hub', 'shop', 1],
    ['build-2', 'shop', 4],
  ])
  const worker = spendingOf(home(), 'build-1')
  worker.take(said[0]?.told)
  expect(worker.elsewhere('shop')).toMatchObject([
    { machine: 'hub', usd: 1, at: expect.any(String) },
    { machine: 'build-2', usd: 4 },
  ])
})

test('a hub sends the spending of many projects in parts', async () => {
  const spending = spendingOf(home(), 'hub')
  const many = Array.from({ length: 2500 }, (_, index) => spent(`${'x'.repeat(990)}${index}`, 1))
  spending.heard('build-1', many, new Date())
  spending.heard('build-2', many, new Date())
  const worker = spendingOf(home(), 'build-1')
  let parts = 0
  const over = new Promise<void>(resolve => {
    spending.tell(
      [{ machine: 'build-1', role: 'worker', state: 'here', isThis: false }],
      async (_to, told) => {
        const body = JSON.stringify(told)
        expect(body.length).toBeLessThan(7 * 1024 * 1024)
        worker.take(JSON.parse(body))
        parts += 1
        if (worker.elsewhere(many.at(-1)?.key ?? '').length > 0) resolve()
      },
    )
  })
  await over
  expect(parts).toBe(3)
})

test.each([[undefined], ['x'], [{ machine: 'a' }]])('a value that is no list is refused: %j', told => {
  const spending = spendingOf(home(), 'hub')
  expect(() => spending.take(told)).toThrow()
})

test.each([
  [{ ...spent('shop', 1), machine: '../x', ageMs: 0 }],
  [{ ...spent('shop', 1), machine: 'a', ageMs: -1 }],
  [{ ...spent('shop', -5), machine: 'a', ageMs: 0 }],
  [{ machine: 'a', ageMs: 0, key: 'shop', usd: 1 }],
  [{ ...spent('shop', 1), machine: 'hub', ageMs: 0 }],
])('an entry that is malformed, or of this machine, changes nothing: %j', entry => {
  const spending = spendingOf(home(), 'hub')
  spending.take([entry, { ...spent('shop', 2), machine: 'b', ageMs: Number.MAX_VALUE }])
  expect(spending.elsewhere('shop')).toMatchObject([{ machine: 'b', usd: 2, at: new Date(0).toISOString() }])
})

test('a damaged file is as none', async () => {
  const at = home()
  writeFileSync(join(at, 'fleet', 'spent.json'), '{"a":{"at":"yesterday"}}')
  const spending = spendingOf(at, 'hub')
  expect(spending.elsewhere('shop')).toEqual([])
  spending.heard('build-1', [spent('shop', 1)], new Date())
  await expect.poll(() => readFileSync(join(at, 'fleet', 'spent.json'), 'utf8')).toContain('build-1')
})
