import { describe, expect, test } from 'vitest'
import {
  assistant,
  eventsOf,
  failure,
  init,
  only,
  result,
  statuses,
  system,
  text,
  toolUse,
  translate,
} from '../../../../test/support/claude-lines.ts'

const sessionId = 'ours'
const usage = { input_tokens: 3, output_tokens: 4 }

describe('success', () => {
  test('E31: the answer, then what it cost', () => {
    expect(eventsOf(result({ duration_ms: 500, num_turns: 2 }))).toStrictEqual([
      { type: 'chat:complete', sessionId, text: 'done' },
      { type: 'session:complete', sessionId, costUsd: 0.01, usage, durationMs: 500, numTurns: 2 },
    ])
  })

  test('E31: several results in one process each count, with their origin', () => {
    const second = result({ result: 'noted', total_cost_usd: 0.03, origin: { kind: 'task-notification' } })
    const events = eventsOf(init(), result({ origin: { kind: 'human' } }), init(), second)
    expect(only(events, 'chat:complete').map(event => event.text)).toStrictEqual(['done', 'noted'])
    expect(only(events, 'session:complete')).toStrictEqual([
      { type: 'session:complete', sessionId, costUsd: 0.01, usage },
      { type: 'session:complete', sessionId, costUsd: 0.02, usage, origin: 'task-notification' },
    ])
  })

  test('E31: an answer can be cut after its last message, where that is the model’s', () => {
    const pointAfter = (...lines: Parameters<typeof eventsOf>) =>
      only(eventsOf(init(), ...lines, result()), 'session:complete')[0]?.forkPoint
    const said = (uuid: string, fields = {}) => ({ ...assistant('m', text('Hi.')), uuid, ...fields })
    const user = { type: 'user', uuid: 'u', message: { role: 'user', content: 'From the agent itself.' } }
    expect(pointAfter(said('a'), said('b'))).toBe('b')
    expect(pointAfter(said('a'), said('b', { parent_tool_use_id: 'toolu_1' }))).toBe('a')
    expect(pointAfter(said('a'), user)).toBeUndefined()
    expect(pointAfter()).toBeUndefined()
    const again = only(eventsOf(init(), said('a'), result(), init(), result()), 'session:complete')
    expect(again.map(({ forkPoint }) => forkPoint)).toEqual(['a', undefined])
  })

  test('E35: structured output comes with the answer', () => {
    const { events, outcome } = translate([result({ structured_output: { name: 'Bob' } })])
    expect(only(events, 'chat:complete')).toMatchObject([{ structuredOutput: { name: 'Bob' } }])
    expect(outcome).toMatchObject({ structuredOutput: { name: 'Bob' } })
  })
})

describe('failure', () => {
  test('E30: is_error, or a subtype that begins with error_', () => {
    expect(eventsOf(failure({ subtype: 'success' })).map(event => event.type)).toStrictEqual([
      'session:error',
    ])
    const old = (subtype: string) => eventsOf(result({ subtype, result: undefined, is_error: false }))
    expect(old('error_max_turns')).toMatchObject([{ type: 'session:error', code: 'max_turns' }])
    expect(old('error_during_execution')).toMatchObject([{ type: 'session:error', code: 'unknown' }])
  })

  test.each(['[Request interrupted by user]', '[Request interrupted by user for tool use]'])(
    'E34: a release that only tells the model of a stop, as "%s", was stopped all the same',
    words => {
      const told = { type: 'user', message: { role: 'user', content: [{ type: 'text', text: words }] } }
      const stopped = result({ subtype: 'error_during_execution', result: undefined })
      const { events, outcome } = translate([init(), told, stopped])
      expect(only(events, 'session:error')).toMatchObject([{ code: 'interrupted' }])
      expect(outcome).toMatchObject({ reason: 'interrupted', isError: true })
      // Not the next one.
      expect(translate([init(), told, stopped, init(), stopped]).outcome).toMatchObject({ reason: 'failed' })
    },
  )

  test('E33: has cost and usage', () => {
    expect(eventsOf(failure({ result: 'API Error: 500', api_error_status: 500 }))).toStrictEqual([
      {
        type: 'session:error',
        sessionId,
        error: 'API Error: 500',
        code: 'api_error',
        apiStatus: 500,
        costUsd: 0.01,
        usage,
      },
    ])
  })

  test('E34: an interrupt is told in words for people', () => {
    const stopped = failure({
      subtype: 'error_during_execution',
      result: undefined,
      terminal_reason: 'aborted_tools',
      errors: ['[ede_diagnostic] result_type=user last_content_type=n/a'],
    })
    expect(eventsOf(stopped)).toMatchObject([
      { type: 'session:error', code: 'interrupted', error: 'Interrupted by the user' },
    ])
  })

  test('a refused key names the variable that it is in, a login does not', () => {
    const refused = failure({ result: 'Invalid API key', api_error_status: 401 })
    const credentialOf = (apiKeySource: string) =>
      only(eventsOf(init({ apiKeySource }), refused), 'session:error')[0]?.credential
    expect(credentialOf('ANTHROPIC_API_KEY')).toBe('ANTHROPIC_API_KEY')
    expect([credentialOf('none'), credentialOf('/login managed key')]).toEqual([undefined, undefined])
  })

  test('a failure that says nothing still has a text', () => {
    expect(eventsOf(failure({ result: undefined }))).toMatchObject([
      { error: 'The agent failed and did not say why', code: 'unknown' },
    ])
  })
})

describe('outcome', () => {
  test('E36: null before the first result', () => {
    expect(translate([init()]).outcome).toBeNull()
  })

  test.each([
    [result(), 'completed'],
    [result({ terminal_reason: 'aborted_streaming' }), 'interrupted'],
    [failure({ terminal_reason: 'aborted_streaming' }), 'interrupted'],
    [failure({ subtype: 'error_max_turns' }), 'max_turns'],
    [failure({ subtype: 'error_max_budget_usd' }), 'budget'],
    [failure({ api_error_status: 500 }), 'failed'],
  ])('E36: %# ends as %s', (line, reason) => {
    expect(translate([line]).outcome?.reason).toBe(reason)
  })

  test('E36: holds all that the end of a turn needs', () => {
    const denial = { tool_name: 'Bash', tool_use_id: 't1', tool_input: {} }
    expect(translate([init(), result({ permission_denials: [denial], num_turns: 3 })]).outcome).toStrictEqual(
      {
        reason: 'completed',
        isError: false,
        finalText: 'done',
        costUsd: 0.01,
        usage,
        numTurns: 3,
        permissionDenials: [denial],
        nativeSessionId: 'native-1',
      },
    )
    expect(translate([init(), failure({ api_error_status: 401, result: 'No' })]).outcome).toStrictEqual({
      reason: 'failed',
      isError: true,
      errorCode: 'auth_failed',
      error: 'No',
      apiStatus: 401,
      costUsd: 0.01,
      usage,
      permissionDenials: [],
      nativeSessionId: 'native-1',
    })
  })

  test('E1: a failed result names no session to resume, a good one does', () => {
    expect(translate([failure({ session_id: 'made-up' })]).nativeSessionId).toBeNull()
    expect(translate([result({ session_id: 'native-2' })]).nativeSessionId).toBe('native-2')
  })
})

describe('E53: denied calls', () => {
  const denial = { tool_name: 'Bash', tool_use_id: 't1', tool_input: { command: 'rm' } }
  const denied = result({ permission_denials: [denial] })

  test('are told before the completion where nothing told of them', () => {
    expect(eventsOf(assistant('m', toolUse('t1')), denied).slice(1)).toMatchObject([
      {
        type: 'status',
        status: 'permission_denied',
        level: 'warn',
        message: 'Bash was not allowed to run',
        toolUseId: 't1',
        data: { toolName: 'Bash', input: { command: 'rm' } },
      },
      { type: 'chat:complete' },
      { type: 'session:complete' },
    ])
  })

  test('are told once', () => {
    const told = system('permission_denied', {
      tool_name: 'Bash',
      tool_use_id: 't1',
      decision_reason: 'Rule',
    })
    expect(statuses(told, denied)).toMatchObject([
      { status: 'permission_denied', message: 'Bash was not allowed to run: Rule', toolUseId: 't1' },
    ])
    expect(statuses(denied, denied)).toHaveLength(1)
  })

  test('are not told to the person who denied them', () => {
    const asked = {
      type: 'control_request',
      request_id: 'r1',
      request: { subtype: 'can_use_tool', tool_name: 'Bash', tool_use_id: 't1', input: {} },
    }
    expect(statuses(asked, denied)).toStrictEqual([])
  })
})

test('E64: a refusal that only the result tells of comes before its end', () => {
  const events = eventsOf(assistant('m', text('I will not')), result({ stop_reason: 'refusal' }))
  expect(events.map(event => event.type)).toStrictEqual([
    'chat:message',
    'status',
    'chat:complete',
    'session:complete',
  ])
  expect(events[1]).toMatchObject({ status: 'refused' })
})
