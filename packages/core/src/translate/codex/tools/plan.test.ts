import { expect, test } from 'vitest'
import {
  appStatuses,
  appTurnStarted,
  completed,
  execEvents,
  notification,
  only,
  started,
  threadStarted,
  turnCompleted,
  updated,
} from '../../../../test/support/codex-lines.ts'

const list = (...done: boolean[]) => ({
  id: 'item_0',
  type: 'todo_list',
  items: done.map((completed, index) => ({ text: `step ${index + 1}`, completed })),
})

const plan = (...statuses: string[]) =>
  notification('turn/plan/updated', {
    explanation: null,
    plan: statuses.map((status, index) => ({ step: `step ${index + 1}`, status })),
  })

test('C60: the to-do list is a task with its steps, the same in both voices', () => {
  const exec = only(
    execEvents(
      threadStarted(),
      started(list(false, false)),
      updated(list(true, false)),
      completed(list(true, false)),
      turnCompleted(),
    ),
    'status',
  )
  const app = appStatuses(appTurnStarted(), plan('pending', 'pending'), plan('completed', 'pending'))
  expect(exec).toStrictEqual(app)
  expect(exec).toMatchObject([
    { status: 'task', message: 'Plan: 0 of 2 done' },
    {
      status: 'task',
      message: 'Plan: 1 of 2 done',
      data: {
        taskId: 'turn-1:plan',
        todos: [
          { text: 'step 1', completed: true },
          { text: 'step 2', completed: false },
        ],
      },
    },
  ])
})

test('C60: app-server also says what the agent is at, and why the plan changed', () => {
  const why = notification('turn/plan/updated', {
    explanation: 'found it',
    plan: [{ step: 'fix', status: 'inProgress' }],
  })
  expect(appStatuses(appTurnStarted(), why)).toMatchObject([
    { data: { todos: [{ text: 'fix', completed: false }], active: 'fix', explanation: 'found it' } },
  ])
})

test('C60: a list that is only ever completed is shown', () => {
  expect(only(execEvents(threadStarted(), completed(list(true))), 'status')).toHaveLength(1)
})

test('a list without steps, or with wrong ones, does no harm', () => {
  const odd = { id: 'item_0', type: 'todo_list', items: [null, { text: 7 }] }
  expect(
    only(execEvents(threadStarted(), started(odd), started({ ...odd, items: 'x' })), 'status'),
  ).toMatchObject([{ message: 'Plan: 0 of 2 done' }, { message: 'Plan: 0 of 0 done' }])
})
