import { describe, expect, test } from 'vitest'
import {
  assistant,
  eventsOf,
  init,
  messageDelta,
  messageStart,
  result,
  statuses,
  system,
  text,
  translate,
  user,
} from '../../../../test/support/claude-lines.ts'

const sessionId = 'ours'

describe('session:init', () => {
  test('E1, E2: says who the agent is, with its own id', () => {
    const line = init({
      cwd: '/project',
      mcp_servers: [{ name: 'db', status: 'connected' }, { name: 'x' }, 'rubbish'],
      slash_commands: ['compact'],
      apiKeySource: 'none',
      claude_code_version: '2.1.325',
    })
    expect(eventsOf(line)).toStrictEqual([
      {
        type: 'session:init',
        sessionId,
        claudeSessionId: 'native-1',
        model: 'claude-x',
        tools: ['Bash'],
        harness: 'claude-code',
        version: '2.1.325',
        cwd: '/project',
        permissionMode: 'default',
        mcpServers: [
          { name: 'db', status: 'connected' },
          { name: 'x', status: 'unknown' },
        ],
        slashCommands: ['compact'],
        apiKeySource: 'none',
      },
    ])
  })

  test('E2: comes with every turn, after other events too, and the last one counts', () => {
    const hook = system('hook_response', { hook_name: 'SessionStart', output: 'hi', outcome: 'success' })
    const { events, nativeSessionId } = translate([hook, init(), result(), init({ session_id: 'native-2' })])
    expect(events.map(event => event.type)).toStrictEqual([
      'status',
      'session:init',
      'chat:complete',
      'session:complete',
      'status',
      'session:init',
    ])
    expect(nativeSessionId).toBe('native-2')
  })
})

describe('status', () => {
  test('E60: follows what the agent does', () => {
    expect(statuses(system('status', { status: 'requesting' }))).toMatchObject([
      { status: 'requesting', level: 'info' },
    ])
    expect(statuses(system('session_state_changed', { state: 'idle' }))).toMatchObject([{ status: 'idle' }])
    expect(statuses(system('session_state_changed', { state: 'running' }))).toStrictEqual([])
    expect(statuses(system('status', { status: null }))).toStrictEqual([])
  })

  test('E60: a changed permission mode is told, an unchanged one is not', () => {
    const mode = (permissionMode: string) => system('status', { status: null, permissionMode })
    expect(statuses(init(), mode('default'), mode('plan'), mode('plan'))).toMatchObject([
      { status: 'permission_mode', message: 'Permission mode: Plan only', data: { mode: 'plan' } },
    ])
  })

  test('E80: an unknown status is native:unknown', () => {
    const raw = system('status', { status: 'dreaming' })
    expect(eventsOf(raw)).toMatchObject([{ type: 'native:unknown', nativeType: 'system/status', raw }])
  })
})

describe('compaction', () => {
  test('E63: begins and ends', () => {
    const boundary = system('compact_boundary', {
      compact_metadata: { trigger: 'auto', pre_tokens: 2121, post_tokens: 578, duration_ms: 61 },
    })
    expect(statuses(system('status', { status: 'compacting' }), boundary)).toMatchObject([
      { status: 'compacting' },
      {
        status: 'compacted',
        message: 'Conversation compacted from 2121 to 578 tokens',
        data: { trigger: 'auto', preTokens: 2121, postTokens: 578, durationMs: 61 },
      },
    ])
    expect(statuses(system('compact_boundary'))).toMatchObject([{ message: 'Conversation compacted' }])
  })

  test('E63: or fails', () => {
    const failed = system('status', {
      status: null,
      compact_result: 'failed',
      compact_error: 'Not enough messages.',
    })
    expect(statuses(failed)).toMatchObject([
      { status: 'notice', level: 'warn', message: 'Compacting failed: Not enough messages.' },
    ])
    expect(statuses(system('status', { status: null, compact_result: 'success' }))).toStrictEqual([])
  })
})

describe('models', () => {
  test('E64: one that takes over is told', () => {
    const fallback = system('model_fallback', {
      trigger: 'overloaded',
      original_model: 'big',
      fallback_model: 'small',
      content: 'Switched to small',
    })
    expect(statuses(fallback)).toMatchObject([
      {
        status: 'model_fallback',
        level: 'warn',
        message: 'Switched to small',
        data: { trigger: 'overloaded', originalModel: 'big', fallbackModel: 'small' },
      },
    ])
    expect(statuses(system('model_fallback', { original_model: 'big' }))).toMatchObject([
      { message: 'Switched from big to another one' },
    ])
  })

  const refusals = (...lines: unknown[]) => statuses(...lines).filter(event => event.status === 'refused')
  const refusedStop = messageDelta({ delta: { stop_reason: 'refusal' } })
  const refusedEvent = system('model_refusal_no_fallback', { content: '', api_refusal_category: 'bio' })
  const refusedMessage = user([text('stopped by a safety classifier')], {
    isSynthetic: true,
    refused_message_id: 'm',
  })

  test.each([
    ['the stop reason', [messageStart('m'), refusedStop]],
    ['an event of its own', [refusedEvent]],
    ['a message in the user’s name', [assistant('m', text('I')), refusedMessage]],
    [
      'all of them',
      [messageStart('m'), refusedEvent, refusedStop, refusedMessage, result({ stop_reason: 'refusal' })],
    ],
  ])('E64: a refusal is told once, by %s', (_, lines) => {
    expect(refusals(...lines)).toMatchObject([{ level: 'warn', message: 'The model refused to go on' }])
  })

  test('E64: another answer can be refused again', () => {
    expect(refusals(messageStart('m'), refusedStop, messageStart('n'), refusedStop)).toHaveLength(2)
  })
})

describe('E69: notices', () => {
  test.each([
    [
      system('informational', { content: 'Blank prompt', level: 'warning' }),
      'warn',
      'Blank prompt',
      'informational',
    ],
    [system('informational', { content: 'Noted', level: 'notice' }), 'info', 'Noted', 'informational'],
    [system('notification', { text: 'Context is low' }), 'info', 'Context is low', 'notification'],
    [system('session_title_changed', { title: 'Fix it' }), 'info', 'Title: Fix it', 'session_title_changed'],
    [
      system('memory_recall', { memories: [{ path: 'a' }] }),
      'info',
      'Recalled from memory: 1',
      'memory_recall',
    ],
    [
      system('plugin_install', { status: 'failed', name: 'p', error: 'x' }),
      'warn',
      'Plugin p failed to install: x',
      'plugin_install',
    ],
    [
      system('plugin_install', { status: 'installed', name: 'p' }),
      'info',
      'Plugin p: installed',
      'plugin_install',
    ],
    [system('mirror_error', { error: 'x' }), 'warn', 'Transcript not mirrored: x', 'mirror_error'],
    [
      system('worker_shutting_down', { reason: 'host_exit' }),
      'warn',
      'The agent is shutting down: host_exit',
      'worker_shutting_down',
    ],
    [
      system('session_writes_lost', { error_code: 'ENOSPC' }),
      'error',
      'The agent could not save its transcript (ENOSPC): resuming may miss part of it',
      'session_writes_lost',
    ],
    [
      { type: 'tool_use_summary', summary: 'Read two files', preceding_tool_use_ids: ['t1'] },
      'info',
      'Read two files',
      'tool_use_summary',
    ],
    [
      { type: 'prompt_suggestion', suggestion: 'run the tests' },
      'info',
      'Suggested next: run the tests',
      'prompt_suggestion',
    ],
    [
      { type: 'conversation_reset', trigger: 'clear' },
      'info',
      'The agent began a new conversation',
      'conversation_reset',
    ],
    [
      { type: 'auth_status', isAuthenticating: true, output: ['Open this', 'link'] },
      'info',
      'Open this\nlink',
      'auth_status',
    ],
    [{ type: 'auth_status', error: 'denied' }, 'error', 'denied', 'auth_status'],
    [{ type: 'active_goal', value: { condition: 'tests pass' } }, 'info', 'Goal: tests pass', 'active_goal'],
    [{ type: 'active_goal', value: null }, 'info', 'No goal any more', 'active_goal'],
  ])('%#: %s %s', (line, level, message, kind) => {
    expect(statuses(line)).toMatchObject([{ status: 'notice', level, message, data: { kind } }])
  })

  test('empty texts give no notice', () => {
    const wordless = [
      system('informational', { content: '' }),
      system('notification'),
      system('session_title_changed', { title: null }),
      { type: 'prompt_suggestion' },
      { type: 'tool_use_summary', summary: 7 },
      { type: 'auth_status' },
    ]
    expect(eventsOf(...wordless)).toStrictEqual([])
  })
})

describe('a conversation that begins anew in the same process', () => {
  const reset = { status: 'notice', data: { kind: 'conversation_reset' } }

  test('is told where only the id says so', () => {
    expect(
      statuses(init(), init({ session_id: 'native-2' }), init({ session_id: 'native-2' })),
    ).toMatchObject([reset])
  })

  test('is told once where the agent says it, and not for the same id', () => {
    const said = { type: 'conversation_reset', trigger: 'clear' }
    expect(statuses(init(), said, init({ session_id: 'native-2' }))).toMatchObject([reset])
    expect(statuses(init(), init())).toEqual([])
  })
})
