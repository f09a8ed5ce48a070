import { describe, expect, test } from 'vitest'
import { HOOK_NAMES } from '../protocol/worker-messages.ts'
import { translateHook, translateMessage } from './event-translator.ts'

describe('hooks', () => {
  test.each([
    ['PreToolUse', 'tool.pre', true],
    ['PostToolUse', 'tool.post', false],
    ['Stop', 'stop.request', true],
    ['SessionStart', 'session.start', false],
    ['SessionEnd', 'session.end', false],
    ['SubagentStart', 'subagent.start', false],
    ['SubagentStop', 'subagent.stop', true],
    ['UserPromptSubmit', 'user.prompt', true],
    ['PreCompact', 'compact.pre', true],
    ['Notification', 'notification', false],
    ['PermissionRequest', 'permission.request', true],
  ])('%s is %s', (hook, kind, expectsDecision) => {
    expect(translateHook('1', hook, {})).toMatchObject({ id: '1', kind, hookName: hook, expectsDecision })
  })

  test('each hook name gives its own event kind', () => {
    const kinds = HOOK_NAMES.map(hook => translateHook('1', hook, {}).kind)
    expect(new Set(kinds).size).toBe(HOOK_NAMES.length)
    expect(kinds).not.toContain('unknown')
  })

  test('a call of a sub-agent says whose it is', () => {
    const input = {
      session_id: 's',
      hook_event_name: 'PreToolUse',
      tool_name: 'Bash',
      tool_input: { command: 'ls' },
      tool_use_id: 'toolu_1',
      agent_id: 'a1',
    }
    expect(translateHook('1', 'PreToolUse', input)).toMatchObject({
      nativeSessionId: 's',
      toolName: 'Bash',
      toolUseId: 'toolu_1',
      agentId: 'a1',
      data: input,
    })
  })

  test.each(['Brand new', '__proto__', 'constructor', ''])('%j is unknown, and decides nothing', hook => {
    expect(translateHook('1', hook, { session_id: 7 })).toMatchObject({
      kind: 'unknown',
      hookName: null,
      nativeSessionId: null,
      expectsDecision: false,
    })
  })
})

describe('messages', () => {
  test('the first message starts a session, a result ends it', () => {
    const init = { type: 'system', subtype: 'init', session_id: 's', model: 'm' }
    expect(translateMessage('1', init)).toMatchObject({
      kind: 'session.start',
      nativeSessionId: 's',
      data: init,
    })
    expect(translateMessage('2', { type: 'result', session_id: 's' })).toMatchObject({ kind: 'session.end' })
  })

  test('other messages give no runtime event', () => {
    expect(translateMessage('1', { type: 'assistant' })).toBeUndefined()
    expect(translateMessage('1', { type: 'system', subtype: 'status' })).toBeUndefined()
  })
})
