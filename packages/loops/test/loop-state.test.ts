import { expect, test } from 'vitest'
import type { JournalEntry, Stamped } from '../src/journal.ts'
import { foldJournal, type LoopState } from '../src/loop-state.ts'
import { oldLoops } from '../src/old-loops.ts'
import { reportText, tasksToGo } from '../src/report.ts'
import { spentOf } from '../src/spent.ts'
import { parseTaskList } from '../src/task-list.ts'
import { budgetOf } from '../src/turn-facts.ts'

const { tasks, settings } = parseTaskList('- [ ] One\n- [ ] Two\n', 'TASKS.md')
const [one] = tasks
const START: JournalEntry = {
  type: 'loop:start',
  loopId: 'tasks-1',
  list: '/p/TASKS.md',
  projectRoot: '/p',
  base: 'b',
  baseBranch: 'main',
  worktreeId: 'w',
  settings,
  by: 'server',
}
const run: JournalEntry = { type: 'run:start', run: 'r', pid: 1, by: 'server' }

function after(...entries: [minute: number, entry: JournalEntry][]) {
  const stamped = entries.map(([minute, entry]) => ({
    ...entry,
    at: new Date(Date.UTC(2030, 0, 1, 0, minute)).toISOString(),
  }))
  const state = foldJournal([{ ...START, at: '2030-01-01T00:00:00.000Z' }, ...stamped] as Stamped[])
  if (state === undefined) throw new Error('no state')
  return state
}

test('a run counts as idle only if it was over at once: a long turn writes nothing, too', () => {
  expect(after([0, run], [10, run], [20, run], [30, run]).idleRuns).toBe(1)
  expect(after([0, run], [0, run], [0, run]).idleRuns).toBe(3)
  expect(after([0, run], [0, run], [0, { type: 'run:left' }], [0, run]).idleRuns).toBe(1)
})

test('a task that was begun is still to go, in the report as in the status', () => {
  if (one === undefined) throw new Error('no task')
  const begun = after([0, run], [0, { type: 'task:start', task: one, ...NAMES }])
  expect(tasksToGo(begun, tasks).map(({ title }) => title)).toEqual(['One', 'Two'])
  expect(reportText(begun, { tasks, warnings: [] })).toContain(' · 2 to go')
})

const NAMES = { sessionId: 's', worktreeId: 't', base: 'b' }

test('checks that passed are a stage of their own, and a task that is put back is not compared with before', () => {
  if (one === undefined) throw new Error('no task')
  const checked: JournalEntry = {
    type: 'checks:end',
    task: 'one',
    n: 1,
    tree: 'tree',
    results: [],
    diff: { files: 1, insertions: 1, deletions: 0 },
  }
  const begun: [number, JournalEntry][] = [
    [0, run],
    [0, { type: 'task:start', task: one, ...NAMES }],
  ]
  expect(after(...begun, [1, checked]).tasks.get('one')?.stage).toEqual({ at: 'passed', tree: 'tree' })
  const failed: [number, JournalEntry] = [1, { ...checked, failure: 'It fails.' }]
  expect(after(...begun, failed).tasks.get('one')).toMatchObject({ stage: { at: 'rest' }, tree: 'tree' })
  const again: JournalEntry = { type: 'task:again', task: 'one', note: 'Once more.' }
  const back = after(...begun, failed, [2, { type: 'task:failed', task: 'one', why: '' }], [3, again])
  expect(back.tasks.get('one')).toMatchObject({ status: 'working', attempts: 0, notes: ['Once more.'] })
  expect(back.tasks.get('one')?.tree).toBeUndefined()
})

test('a wait for a limit of the plan is known after a crash', () => {
  const until = '2030-01-01T05:00:00.000Z'
  const waiting = after([0, run], [1, { type: 'loop:wait', until, why: 'The limit.' }], [2, run])
  expect(waiting).toMatchObject({ waits: 1, waitUntil: until })
  expect(waiting.end).toBeUndefined()
})

test('a turn that a limit of the plan ended is no attempt, and what another agent goes on with keeps its cost', () => {
  if (one === undefined) throw new Error('no task')
  const until = '2030-01-01T05:00:00.000Z'
  const entries: [number, JournalEntry][] = [
    [0, run],
    [0, { type: 'task:start', task: one, sessionId: 's', worktreeId: 't', base: 'b' }],
    [1, { type: 'iteration:start', task: 'one', n: 1, fromSeq: 0 }],
    [
      2,
      {
        type: 'iteration:end',
        task: 'one',
        n: 1,
        reason: 'failed',
        limit: { harness: 'a', until },
        spent: { usd: 1, isEstimate: false, tokens: 10 },
      },
    ],
  ]
  const limited = after(...entries)
  expect(limited.tasks.get('one')).toMatchObject({ attempts: 0, iterations: 1, stage: { at: 'rest' } })
  expect(limited.limited.get('a')).toBe(until)
  // The next process goes on as before; a person may know more.
  expect(after(...entries, [3, run]).limited.size).toBe(1)
  expect(
    after(...entries, [3, { type: 'loop:end', reason: 'rate-limit', why: '' }], [4, run]).limited.size,
  ).toBe(0)
  const handed: JournalEntry = {
    type: 'task:handed',
    task: 'one',
    from: 'a',
    to: 'b',
    sessionId: 's2',
    why: 'The limit.',
  }
  const state = after(...entries, [3, handed])
  expect(state.tasks.get('one')).toMatchObject({
    harness: 'b',
    sessionId: 's2',
    worktreeId: 't',
    stage: { at: 'rest' },
    handed: [{ from: 'a', to: 'b', sessionId: 's' }],
  })
  expect(spentOf(state)).toMatchObject({ usd: 1, tokens: 10 })
})

test('an agent that takes a task over has what those before it left, without what was spent before a fresh start', () => {
  if (one === undefined) throw new Error('no task')
  const fresh = { sessionId: 's2', worktreeId: 't2', base: 'c' }
  const ended = (usd: number): JournalEntry => ({
    type: 'iteration:end',
    task: 'one',
    n: 1,
    reason: 'failed',
    spent: { usd, isEstimate: false, tokens: usd * 10 },
  })
  const state = after(
    [0, run],
    [0, { type: 'task:start', task: { ...one, budgetUsd: 5, budgetTokens: 50 }, ...fresh, sessionId: 's' }],
    [1, ended(2)],
    [2, { type: 'task:again', task: 'one', note: '', fresh }],
    [3, ended(1)],
    [4, { type: 'task:handed', task: 'one', from: 'a', to: 'b', sessionId: 's3', why: 'The limit.' }],
  )
  const task = state.tasks.get('one')
  if (task === undefined) throw new Error('no state of the task')
  expect(budgetOf(task)).toEqual({ budgetUsd: 4, budgetTokens: 40 })
  expect(spentOf(state)).toMatchObject({ usd: 3, tokens: 30 })
})

test('a turn on another machine: it waits, is placed, and comes back; one that is lost counts as an attempt', () => {
  if (one === undefined) throw new Error('no task')
  const begun: [number, JournalEntry][] = [
    [0, run],
    [0, { type: 'task:start', task: one, sessionId: 's', worktreeId: 't', base: 'b' }],
    [0, { type: 'task:setup', task: 'one' }],
    [0, { type: 'iteration:start', task: 'one', n: 1, fromSeq: 0 }],
    [0, { type: 'task:waits', task: 'one', n: 1, why: 'waits: no slot is free' }],
  ]
  expect(after(...begun).tasks.get('one')).toMatchObject({ waits: 'waits: no slot is free' })
  const placed: JournalEntry = {
    type: 'task:placed',
    task: 'one',
    n: 1,
    machine: 'build-1',
    why: 'most room',
  }
  const there = after(...begun, [1, placed]).tasks.get('one')
  expect(there).toMatchObject({ machine: 'build-1', stage: { at: 'turn' } })
  expect(there?.waits).toBeUndefined()
  const back = after(...begun, [1, placed], [2, { type: 'task:returned', task: 'one', worktreeId: 'move-1' }])
  expect(back.tasks.get('one')).toMatchObject({ worktreeId: 'move-1', isSetUp: false, stage: { at: 'turn' } })
  const fresh = { sessionId: 's2', worktreeId: 't2', base: 'c' }
  const lost = after(...begun, [1, placed], [9, { type: 'task:lost', task: 'one', n: 1, why: 'gone', fresh }])
  expect(lost.tasks.get('one')).toMatchObject({
    ...fresh,
    attempts: 1,
    stage: { at: 'rest' },
    isSetUp: false,
  })
  expect(lost.tasks.get('one')?.machine).toBeUndefined()
})

test('the newest loops of a project are kept, and of the others all with which something can be done', () => {
  const loop = (loopId: string, fields: object = {}) =>
    ({
      loopId,
      end: { reason: 'done' },
      tasks: new Map([['a', ACCEPTED]]),
      ...fields,
    }) as unknown as LoopState
  const states = [
    ...Array.from({ length: 100 }, (_, n) => loop(`new-${n}`)),
    loop('finished'),
    loop('parked', {
      tasks: new Map(Object.entries({ a: ACCEPTED, b: { status: 'parked' } })),
    }),
    loop('not-accepted', { tasks: new Map([['a', { status: 'merged' }]]) }),
    loop('stopped', { end: { reason: 'stopped' } }),
    loop('cut-off', { end: undefined }),
  ]
  expect(oldLoops(states).map(({ loopId }) => loopId)).toEqual(['finished'])
})

const ACCEPTED = { status: 'merged', accepted: { into: 'main', commit: 'c' } }
