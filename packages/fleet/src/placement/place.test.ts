import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Candidate, place, type Work } from './place.ts'

const WORK: Work = { id: 'task-1', labels: ['gpu'], agent: 'some-agent', project: 'repo' }

function machine(name: string, changes: Partial<Candidate> = {}): Candidate {
  return {
    ...{ machine: name, state: 'here', labels: ['gpu'], slots: 2, busy: 0, load: 0 },
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

  test('takes the machine with most room, then the least loaded', () => {
    expect(place(WORK, [machine('a', { busy: 1 }), machine('b')])).toMatchObject({ machine: 'b' })
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
