import { describe, expect, test } from 'vitest'
import { parseClaudeEvent } from './claude-event.ts'

describe('parseClaudeEvent', () => {
  test.each([
    'active_goal',
    'assistant',
    'auth_status',
    'command_lifecycle',
    'control_cancel_request',
    'control_request',
    'control_response',
    'conversation_reset',
    'keep_alive',
    'prompt_suggestion',
    'rate_limit_event',
    'result',
    'stream_event',
    'tool_progress',
    'tool_use_summary',
    'user',
  ])('knows %s and keeps the object and the fields it does not know', type => {
    const line = { type, something_new: { deep: [1] } }
    expect(parseClaudeEvent(line)).toBe(line)
  })

  test.each([
    'api_retry',
    'background_tasks_changed',
    'commands_changed',
    'compact_boundary',
    'control_request_progress',
    'elicitation_complete',
    'files_persisted',
    'hook_progress',
    'hook_response',
    'hook_started',
    'informational',
    'init',
    'local_command_output',
    'memory_recall',
    'mirror_error',
    'model_fallback',
    'model_refusal_fallback',
    'model_refusal_no_fallback',
    'notification',
    'permission_denied',
    'plugin_install',
    'post_turn_summary',
    'session_state_changed',
    'session_title_changed',
    'session_writes_lost',
    'status',
    'stop_hook_summary',
    'task_notification',
    'task_progress',
    'task_started',
    'task_updated',
    'thinking_tokens',
    'turn_duration',
    'worker_shutting_down',
  ])('knows system/%s', subtype => {
    const line = { type: 'system', subtype }
    expect(parseClaudeEvent(line)).toBe(line)
  })

  test.each([
    [{ type: 'hologram', x: 1 }, 'hologram'],
    [{ type: 'system', subtype: 'vcs_state_changed' }, 'system/vcs_state_changed'],
    [{ type: 'system' }, 'system'],
    [{ type: 'unknown', nativeType: 'init', raw: 1 }, 'unknown'],
    [{ type: 'toString' }, 'toString'],
    [{ type: 'system', subtype: 'constructor' }, 'system/constructor'],
    [{ type: 7 }, 'no-type'],
    [{}, 'no-type'],
    [[{ type: 'result' }], 'not-an-object'],
    ['result', 'not-an-object'],
    [null, 'not-an-object'],
    [undefined, 'not-an-object'],
    [12, 'not-an-object'],
  ])('E80: keeps %j whole as %s', (raw, nativeType) => {
    expect(parseClaudeEvent(raw)).toStrictEqual({ type: 'unknown', nativeType, raw })
  })

  test('E83: a result or request with a new subtype is still one', () => {
    const result = { type: 'result', subtype: 'error_out_of_coffee' }
    const request = { type: 'control_request', request_id: 'r', request: { subtype: 'new' } }
    expect(parseClaudeEvent(result)).toBe(result)
    expect(parseClaudeEvent(request)).toBe(request)
  })
})
