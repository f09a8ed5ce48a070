import { describe, expect, test } from 'vitest'
import { result, statuses, system } from '../../../../test/support/claude-lines.ts'

const started = system('task_started', {
  task_id: 'a1',
  tool_use_id: 't1',
  description: 'review',
  task_type: 'local_agent',
  subagent_type: 'general-purpose',
  is_backgrounded: true,
})

describe('E71: the list of what runs in the background', () => {
  const list = (...ids: string[]) =>
    system('background_tasks_changed', {
      tasks: ids.map(task_id => ({ task_id, task_type: 'local_bash', description: `job ${task_id}` })),
    })
  const ended = system('task_notification', { task_id: 'a1', status: 'completed', summary: 'all good' })

  test('says nothing that the tasks say themselves', () => {
    expect(statuses(list('a1'), started, ended, list(), result())).toStrictEqual(statuses(started, ended))
    expect(statuses(list(), list())).toStrictEqual([])
  })

  test('ends a task that is gone and did not say so, once', () => {
    expect(statuses(started, list('a1'), list(), list()).slice(1)).toStrictEqual([
      {
        type: 'status',
        sessionId: 'ours',
        status: 'task',
        message: 'review (ended)',
        level: 'info',
        toolUseId: 't1',
        data: {
          taskId: 'a1',
          status: 'ended',
          description: 'review',
          taskType: 'local_bash',
          background: true,
        },
      },
    ])
  })

  test('ends one that only rested, and none that never was in it', () => {
    const paused = system('task_updated', { task_id: 'a1', patch: { status: 'paused' } })
    expect(statuses(started, list('a1'), paused, list()).at(-1)).toMatchObject({ data: { status: 'ended' } })
    expect(statuses(started, list('b2'), list())).toHaveLength(1)
  })

  test('ends one that was started again under its old id', () => {
    expect(statuses(started, ended, started, list('a1'), list()).slice(3)).toMatchObject([
      { data: { taskId: 'a1', status: 'ended' } },
    ])
  })

  test('speaks for a task that never does, at the next list or the end of the turn', () => {
    const running = { message: 'job b2', data: { taskId: 'b2', status: 'running', background: true } }
    expect(statuses(list('b2'))).toStrictEqual([])
    expect(statuses(list('b2'), result(), result())).toMatchObject([running])
    expect(statuses(list('b2'), list('b2', 'c3'), list())).toMatchObject([
      running,
      { message: 'job b2 (ended)', data: { taskId: 'b2', status: 'ended' } },
    ])
  })

  test('keeps quiet about a task that the agent asks not to show', () => {
    const hidden = { ...started, skip_transcript: true }
    expect(statuses(list('a1'), hidden, list('a1', 'b2'), list())).toStrictEqual([])
  })
})
