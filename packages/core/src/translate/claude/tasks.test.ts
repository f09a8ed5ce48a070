import { describe, expect, test } from 'vitest'
import { assistant, statuses, system, toolUse } from '../../../test/support/claude-lines.ts'

const started = system('task_started', {
  task_id: 'a1',
  tool_use_id: 't1',
  description: 'review',
  task_type: 'local_agent',
  subagent_type: 'general-purpose',
  is_backgrounded: true,
})

describe('tasks', () => {
  test('E66: from start to end, with the call they belong to', () => {
    const usage = { total_tokens: 2116, tool_uses: 1, duration_ms: 58 }
    const lines = [
      started,
      system('task_progress', { task_id: 'a1', description: 'Running x', usage, last_tool_name: 'Bash' }),
      system('task_updated', { task_id: 'a1', patch: { status: 'completed', end_time: 1 } }),
      system('task_notification', { task_id: 'a1', status: 'completed', summary: 'all good', usage }),
    ]
    const seen = statuses(...lines)
    expect(seen.every(event => event.status === 'task' && event.toolUseId === 't1')).toBe(true)
    expect(seen.map(event => event.message)).toStrictEqual([
      'Started: review',
      'Running x',
      'review (completed)',
      'all good (completed)',
    ])
    expect(seen.map(event => event.data)).toStrictEqual([
      {
        taskId: 'a1',
        status: 'running',
        description: 'review',
        taskType: 'local_agent',
        subagentType: 'general-purpose',
        background: true,
      },
      {
        taskId: 'a1',
        status: 'running',
        description: 'Running x',
        lastToolName: 'Bash',
        usage: { totalTokens: 2116, toolUses: 1, durationMs: 58 },
      },
      { taskId: 'a1', status: 'completed', description: 'review' },
      {
        taskId: 'a1',
        status: 'completed',
        description: 'review',
        summary: 'all good',
        usage: { totalTokens: 2116, toolUses: 1, durationMs: 58 },
      },
    ])
  })

  test('E66: one that failed is a warning', () => {
    const failed = system('task_updated', { task_id: 'a1', patch: { status: 'failed', error: 'no disk' } })
    expect(statuses(started, failed)[1]).toMatchObject({ level: 'warn', message: 'review (failed): no disk' })
  })

  test('E66: one that the agent asks not to show is not', () => {
    expect(statuses({ ...started, skip_transcript: true })).toStrictEqual([])
  })

  test('E66: the list of what runs in the background', () => {
    const tasks = [{ task_id: 'a1', task_type: 'local_agent', description: 'review', run_id: 'x' }]
    expect(statuses(system('background_tasks_changed', { tasks }))).toMatchObject([
      {
        message: 'In the background: 1',
        data: { tasks: [{ taskId: 'a1', taskType: 'local_agent', description: 'review' }] },
      },
    ])
    expect(statuses(system('background_tasks_changed', { tasks: [] }))).toMatchObject([
      { data: { tasks: [] } },
    ])
  })
})

test('E67: progress belongs to the call that runs', () => {
  const progress = {
    type: 'tool_progress',
    tool_use_id: 't1-heartbeat-0',
    parent_tool_use_id: 't1',
    tool_name: 'Bash',
    elapsed_time_seconds: 30.2,
  }
  const [status] = statuses(assistant('m', toolUse('t1'), { parent_tool_use_id: 'agent' }), progress)
  expect(status).toStrictEqual({
    type: 'status',
    sessionId: 'ours',
    status: 'tool_progress',
    message: 'Bash has been running for 30 s',
    level: 'info',
    toolUseId: 't1',
    parentToolUseId: 'agent',
    data: { toolName: 'Bash', elapsedSeconds: 30.2 },
  })
})
