import { describe, expect, test } from 'vitest'
import { assistant, eventsOf, system, toolStart, toolUse } from '../../../../test/support/claude-lines.ts'

const sessionId = 'ours'

function request(fields: Record<string, unknown>, request_id: unknown = 'r1') {
  return { type: 'control_request', request_id, request: fields }
}

describe('E50: permission requests', () => {
  test('carry the facts that a decision needs', () => {
    const suggestions = [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }]
    const raw = request({
      subtype: 'can_use_tool',
      tool_name: 'Bash',
      input: { command: 'touch x' },
      tool_use_id: 't1',
      decision_reason: 'Path is outside the project',
      permission_suggestions: suggestions,
      agent_id: 'a1',
    })
    expect(eventsOf(raw)).toStrictEqual([
      {
        type: 'permission:request',
        sessionId,
        requestId: 'r1',
        raw,
        kind: 'tool',
        toolName: 'Bash',
        input: { command: 'touch x' },
        facts: { kind: 'execute', label: 'Bash', object: 'touch x', command: 'touch x' },
        toolUseId: 't1',
        reason: 'Path is outside the project',
        suggestions,
        agentId: 'a1',
      },
    ])
  })

  test.each([
    ['Bash', 'tool'],
    ['AskUserQuestion', 'question'],
    ['ExitPlanMode', 'plan'],
    ['constructor', 'tool'],
  ])('%s is a %s', (tool_name, kind) => {
    expect(eventsOf(request({ subtype: 'can_use_tool', tool_name, input: {} }))).toMatchObject([{ kind }])
  })

  test('E3: of a sub-agent carry its call', () => {
    const called = assistant('m', toolUse('t1'), { parent_tool_use_id: 'agent' })
    const events = eventsOf(
      called,
      request({ subtype: 'can_use_tool', tool_name: 'Bash', tool_use_id: 't1' }),
    )
    expect(events[1]).toMatchObject({ type: 'permission:request', parentToolUseId: 'agent' })
  })
})

describe('E3: a request of a sub-agent whose call is not printed yet', () => {
  const task = system('task_started', { task_id: 'a1', tool_use_id: 'agent' })
  const asked = request({ subtype: 'can_use_tool', tool_name: 'Bash', tool_use_id: 't1', agent_id: 'a1' })

  test('carries the call of the task that the sub-agent runs as', () => {
    expect(eventsOf(task, asked)[1]).toMatchObject({ agentId: 'a1', parentToolUseId: 'agent' })
    expect(eventsOf(asked)[0]).not.toHaveProperty('parentToolUseId')
  })

  test('believes the call itself where it is known', () => {
    expect(eventsOf(task, assistant('m', toolUse('t1')), asked)[2]).not.toHaveProperty('parentToolUseId')
  })
})

describe('E54: a plan', () => {
  const plan = { plan: '1. Read\n2. Change' }
  const asked = (input: Record<string, unknown>) =>
    request({ subtype: 'can_use_tool', tool_name: 'ExitPlanMode', tool_use_id: 't1', input })

  test('that the request leaves out is the one of the call', () => {
    const called = assistant('m', toolUse('t1', plan, 'ExitPlanMode'))
    expect(eventsOf(called, asked({}))[1]).toMatchObject({ kind: 'plan', input: plan })
    expect(eventsOf(toolStart('t1', 'ExitPlanMode'), called, asked({})).at(-1)).toMatchObject({ input: plan })
  })

  test('that the request has, as from the plan file, is the one to decide on', () => {
    const file = { plan: 'from the file', planFilePath: '/p.md' }
    const called = assistant('m', toolUse('t1', plan, 'ExitPlanMode'))
    expect(eventsOf(called, asked(file))[1]).toMatchObject({ input: file })
  })

  test('is no reason to fill in the input of another tool', () => {
    const called = assistant('m', toolUse('t1', { command: 'ls' }))
    const bash = request({ subtype: 'can_use_tool', tool_name: 'Bash', tool_use_id: 't1', input: {} })
    expect(eventsOf(called, bash)[1]).toMatchObject({ input: {} })
  })
})

describe('E51: other requests', () => {
  test('of an unknown sort are raised all the same', () => {
    const raw = request({ subtype: 'request_user_dialog', dialog: 'x' })
    expect(eventsOf(raw)).toStrictEqual([
      {
        type: 'permission:request',
        sessionId,
        requestId: 'r1',
        raw,
        kind: 'unknown',
        toolName: 'request_user_dialog',
        input: {},
      },
    ])
  })

  test.each(['hook_callback', 'mcp_message'])('%s is between agent and host', subtype => {
    expect(eventsOf(request({ subtype }))).toStrictEqual([])
  })

  test('without a request id are native:unknown', () => {
    const raw = request({ subtype: 'can_use_tool', tool_name: 'Bash' }, null)
    expect(eventsOf(raw)).toMatchObject([{ type: 'native:unknown', nativeType: 'control_request', raw }])
  })
})

describe('E52: a request that the agent takes back', () => {
  const cancel = { type: 'control_cancel_request', request_id: 'r1' }

  test('is resolved, once', () => {
    const asked = request({ subtype: 'can_use_tool', tool_name: 'Bash' })
    expect(eventsOf(asked, cancel, cancel).slice(1)).toStrictEqual([
      { type: 'permission:resolved', sessionId, requestId: 'r1', outcome: 'cancelled', by: 'agent' },
    ])
  })

  test('is nobody’s business if nobody was asked', () => {
    expect(eventsOf(request({ subtype: 'hook_callback' }), cancel)).toStrictEqual([])
  })
})
