import { describe, expect, test } from 'vitest'
import { assistant, statuses, system, toolUse } from '../../../../test/support/claude-lines.ts'

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
      'all good',
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

  test.each([
    ['review', 'completed', 'review (completed)'],
    ['Agent "review" finished', 'completed', 'Agent "review" finished'],
    ['Command "make" failed with exit code 2', 'failed', 'Command "make" failed with exit code 2'],
    ['half of it', 'stopped', 'half of it (stopped)'],
  ])('E66: summary %j of a task that %s reads %j', (summary, status, message) => {
    const ended = system('task_notification', { task_id: 'a1', status, summary })
    expect(statuses(started, ended)[1]).toMatchObject({ message, data: { status } })
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
