import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Machine } from '../machines.ts'
import { choose, type MachineCandidate, type PlacedWork, place } from './place.ts'

const WORK: PlacedWork = { id: 'task-1', labels: ['gpu'], agent: 'some-agent', project: 'repo' }

function machine(name: string, changes: Partial<MachineCandidate> = {}): MachineCandidate {
  return {
    machine: name,
    state: 'here',
    labels: ['gpu'],
    slots: 2,
    busy: 0,
    load: 0,
    agents: [{ id: 'some-agent', installed: true, loggedIn: true }],
    projects: ['repo'],
    ...changes,
  }
}

describe('placement', () => {
  test.each([
    ['no machine is connected', { state: 'away' as const }],
    ['no machine is connected', { state: 'unknown' as const }],
    ['no machine has the labels gpu', { labels: [] }],
    ['it is not known yet which agents are installed on a', { agents: [] }],
    [
      'some-agent is not installed on a',
      { agents: [{ id: 'some-agent', installed: false, loggedIn: false }] },
    ],
    [
      'some-agent is not logged in on a',
      { agents: [{ id: 'some-agent', installed: true, loggedIn: false }] },
    ],
    ['repo is not on a', { projects: [] }],
    ['no slot is free on a', { busy: 2 }],
  ])('waits: %s', (why, changes) => {
    expect(place(WORK, [machine('a', changes)])).toEqual({ waits: true, why: `waits: ${why}` })
  })

  test('names the rule that leaves no machine, among those that the rules before it left', () => {
    const full = machine('full', { busy: 2 })
    const plain = machine('plain', { labels: [] })
    expect(place(WORK, [plain, full])).toEqual({ waits: true, why: 'waits: no slot is free on full' })
  })

  test('takes the machine of whose slots the smallest part is taken, then the least loaded, and says so', () => {
    expect(place(WORK, [machine('a', { busy: 1 }), machine('b')])).toMatchObject({
      machine: 'b',
      why: expect.stringMatching(/^the smallest part of its slots is taken: /),
    })
    expect(place(WORK, [machine('a', { load: 2 }), machine('b', { load: 0.1 })])).toMatchObject({
      machine: 'b',
    })
  })

  test('is the same on every hub, and spreads work over equal machines', () => {
    const machines = ['a', 'b', 'c'].map(name => machine(name))
    fc.assert(
      fc.property(fc.string(), fc.shuffledSubarray(machines, { minLength: 3 }), (id, shuffled) => {
        expect(place({ ...WORK, id }, shuffled)).toEqual(place({ ...WORK, id }, machines))
      }),
    )
    const places = Array.from({ length: 60 }, (_, i) => place({ ...WORK, id: `task-${i}` }, machines))
    expect(new Set(places.map(found => ('machine' in found ? found.machine : '')))).toEqual(
      new Set(['a', 'b', 'c']),
    )
  })
})

test('a choice follows a project to the machines that have it under another folder, and says what keeps the others', () => {
  const one = (name: string, changes: Partial<Machine>): Machine => ({
    role: 'worker',
    version: '1',
    isThis: false,
    heardSecondsAgo: 1,
    hasKey: null,
    key: null,
    repositories: [],
    machine: name,
    state: 'here',
    labels: [],
    slots: 2,
    busy: 0,
    load: 0,
    projects: [],
    copies: true,
    agents: [{ id: 'some-agent', name: 'Some agent', installed: true, loggedIn: true, version: null }],
    ...changes,
  })
  const key = 'example.com/team/shop'
  const machines = [
    one('desk', { isThis: true, busy: 2, repositories: [{ root: '/home/me/shop', key }] }),
    one('build', { repositories: [{ root: '/srv/shop', key }] }),
    one('other', { repositories: [{ root: '/home/me/shop', key: 'shop' }] }),
  ]
  const found = choose({ agent: 'some-agent', project: '/home/me/shop', labels: [] }, machines)
  expect(found).toEqual({
    machine: 'build',
    why: 'the only machine that fits, 2 of 2 slots free',
    offers: [
      { machine: 'desk', isThis: true, project: '/home/me/shop', problem: 'waits: no slot is free on desk' },
      { machine: 'build', isThis: false, project: '/srv/shop', problem: null },
      { machine: 'other', isThis: false, project: null, problem: `waits: ${key} is not on other` },
    ],
  })
  // The same folder is another project on another machine.
  const there = { agent: 'some-agent', project: '/home/me/shop', labels: [], machine: 'other' }
  expect(choose(there, machines).offers.map(({ project }) => project)).toEqual([null, null, '/home/me/shop'])
})
