import { describe, expect, test } from 'vitest'
import { HOOK_NAMES } from '../protocol/worker-messages.ts'
import { mapDecision } from './decision-mapper.ts'
import type { RuntimeDecision } from './runtime-event.ts'

const intent = (value: Extract<RuntimeDecision, { type: 'intent' }>['intent']): RuntimeDecision => ({
  type: 'intent',
  intent: value,
})

describe('shapes that the agent was seen to heed', () => {
  test('no objection is an empty object, for every hook', () => {
    for (const hook of HOOK_NAMES) expect(mapDecision(hook, { type: 'passthrough' })).toEqual({})
  })

  test('a tool is blocked with the name of its hook and the long name of the reason', () => {
    expect(mapDecision('PreToolUse', { type: 'block', reason: 'no' })).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'deny',
        permissionDecisionReason: 'no',
      },
    })
    expect(mapDecision('PreToolUse', intent({ kind: 'pre_tool_deny', reason: 'no' }))).toEqual(
      mapDecision('PreToolUse', { type: 'block', reason: 'no' }),
    )
  })

  test('a tool is allowed, also with another input', () => {
    const decision = intent({ kind: 'pre_tool_allow', reason: 'fine', updatedInput: { command: 'ls' } })
    expect(mapDecision('PreToolUse', decision)).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'allow',
        permissionDecisionReason: 'fine',
        updatedInput: { command: 'ls' },
      },
    })
  })

  test('a permission is given or refused', () => {
    expect(mapDecision('PermissionRequest', intent({ kind: 'permission_allow' }))).toEqual({
      hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'allow' } },
    })
    expect(mapDecision('PermissionRequest', intent({ kind: 'permission_deny', reason: 'no' }))).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PermissionRequest',
        decision: { behavior: 'deny', message: 'no' },
      },
    })
  })

  test('every other hook is blocked in the general form', () => {
    expect(mapDecision('Stop', { type: 'block', reason: 'go on' })).toEqual({
      decision: 'block',
      reason: 'go on',
    })
  })
})

describe('an invalid decision blocks the call', () => {
  test.each([
    ['PreToolUse', { kind: 'permission_allow' }],
    ['PermissionRequest', { kind: 'pre_tool_allow' }],
    ['Stop', { kind: 'pre_tool_allow' }],
  ] as const)('%s answered with %o', (hook, value) => {
    const output = JSON.stringify(mapDecision(hook, intent(value)))
    expect(output).toMatch(/deny|block/)
    expect(output).not.toContain('allow"')
  })

  test('a decision of no known type', () => {
    const odd = { type: 'yes' } as unknown as RuntimeDecision
    expect(mapDecision('PreToolUse', odd)).toMatchObject({
      hookSpecificOutput: { permissionDecision: 'deny' },
    })
  })

  test('a reason is never empty: an empty one reads as "Blocked by hook"', () => {
    expect(mapDecision('PreToolUse', { type: 'block', reason: ' ' })).toMatchObject({
      hookSpecificOutput: { permissionDecisionReason: 'Blocked.' },
    })
  })
})
