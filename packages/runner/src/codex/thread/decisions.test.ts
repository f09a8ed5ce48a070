import type { PermissionDecision } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { codexAnswer } from './decisions.ts'

const COMMAND = 'item/commandExecution/requestApproval'
const INPUT = { command: 'ls', cwd: '/x' }

function answer(method: string, decision: PermissionDecision, params: Record<string, unknown> = {}) {
  return codexAnswer({ id: 1, method, params }, INPUT, decision)
}

describe('an answer to Codex', () => {
  test.each([
    [{ behavior: 'allow' }, 'accept'],
    [{ behavior: 'allow', remember: 'session' }, 'acceptForSession'],
    [{ behavior: 'allow', updatedInput: { cwd: '/x', command: 'ls' } }, 'accept'],
    [{ behavior: 'allow', updatedInput: { command: 'rm' } }, 'decline'],
    [{ behavior: 'deny' }, 'decline'],
    [{ behavior: 'deny', interrupt: true }, 'cancel'],
  ] as [PermissionDecision, string][])('%j for a command or a patch is %s', (decision, word) => {
    expect(answer(COMMAND, decision).result).toEqual({ decision: word })
    expect(answer('item/fileChange/requestApproval', decision).result).toEqual({ decision: word })
  })

  test.each<[string, Record<string, unknown>, unknown]>([
    [
      'the beginning of the command that Codex proposes',
      { proposedExecpolicyAmendment: ['git', 'status'] },
      { acceptWithExecpolicyAmendment: { execpolicy_amendment: ['git', 'status'] } },
    ],
    [
      'the host that Codex proposes',
      {
        proposedNetworkPolicyAmendments: [
          { host: 'a', action: 'deny' },
          { host: 'a', action: 'allow' },
        ],
      },
      { applyNetworkPolicyAmendment: { network_policy_amendment: { host: 'a', action: 'allow' } } },
    ],
  ])('always is %s, and nothing wider', (_what, params, word) => {
    const { result, note } = answer(COMMAND, { behavior: 'allow', remember: 'always' }, params)
    expect(result).toEqual({ decision: word })
    expect(note).toBeUndefined()
  })

  test.each<[string, Record<string, unknown>, unknown]>([
    [COMMAND, {}, { decision: 'acceptForSession' }],
    [COMMAND, { proposedExecpolicyAmendment: [] }, { decision: 'acceptForSession' }],
    [
      COMMAND,
      { proposedNetworkPolicyAmendments: [{ host: 'a', action: 'deny' }] },
      { decision: 'acceptForSession' },
    ],
    ['item/fileChange/requestApproval', {}, { decision: 'acceptForSession' }],
    ['item/permissions/requestApproval', { permissions: {} }, { permissions: {}, scope: 'session' }],
    [
      'mcpServer/elicitation/request',
      { _meta: { codex_approval_kind: 'mcp_tool_call', persist: ['session'] } },
      { action: 'accept', content: {}, _meta: { persist: 'session' } },
    ],
  ])(
    'always is only for the session where Codex has no rule, and that is said: %s %j',
    (method, params, result) => {
      const answered = answer(method, { behavior: 'allow', remember: 'always' }, params)
      expect(answered.result).toEqual(result)
      expect(answered.note).toMatch(/until the session ends/)
    },
  )

  test('always for a tool of an MCP server that offers it', () => {
    const params = { _meta: { codex_approval_kind: 'mcp_tool_call', persist: ['session', 'always'] } }
    const always = answer('mcpServer/elicitation/request', { behavior: 'allow', remember: 'always' }, params)
    expect(always).toMatchObject({ result: { _meta: { persist: 'always' } } })
    expect(always.note).toBeUndefined()
    const session = answer(
      'mcpServer/elicitation/request',
      { behavior: 'allow', remember: 'session' },
      params,
    )
    expect(session).toMatchObject({ result: { _meta: { persist: 'session' } } })
  })

  test('a changed command is denied in words', () => {
    const { decision } = answer(COMMAND, { behavior: 'allow', updatedInput: { command: 'rm' } })
    expect(decision).toMatchObject({ behavior: 'deny', message: expect.stringContaining('changed input') })
  })

  const TOOL_CALL = { _meta: { codex_approval_kind: 'mcp_tool_call' } }

  test.each([
    [
      { behavior: 'allow', updatedInput: INPUT },
      { action: 'accept', content: {}, _meta: null },
    ],
    [
      { behavior: 'allow', remember: 'session' },
      { action: 'accept', content: {}, _meta: { persist: 'session' } },
    ],
    [{ behavior: 'deny' }, { action: 'decline', content: null, _meta: null }],
    [
      { behavior: 'deny', interrupt: true },
      { action: 'cancel', content: null, _meta: null },
    ],
  ] as [PermissionDecision, unknown][])('%j for a tool of an MCP server', (decision, result) => {
    expect(answer('mcpServer/elicitation/request', decision, TOOL_CALL).result).toEqual(result)
  })

  test('the values that a person filled in are returned to the MCP server that asked', () => {
    const decision: PermissionDecision = { behavior: 'allow', updatedInput: { city: 'Oslo' } }
    expect(answer('mcpServer/elicitation/request', decision, { _meta: null }).result).toMatchObject({
      action: 'accept',
      content: { city: 'Oslo' },
    })
  })

  test('permissions are granted as asked for, or not at all', () => {
    const params = { permissions: { network: { enabled: true } } }
    const method = 'item/permissions/requestApproval'
    expect(answer(method, { behavior: 'allow' }, params).result).toEqual({ ...params, scope: 'turn' })
    expect(answer(method, { behavior: 'allow', remember: 'session' }, params).result).toEqual({
      ...params,
      scope: 'session',
    })
    expect(answer(method, { behavior: 'deny' }, params).result).toEqual({ permissions: {}, scope: 'turn' })
  })

  test('questions are answered by their id or their words', () => {
    const params = {
      questions: [{ id: 'q1', question: 'Which?' }, { id: 'q2', question: 'Why?' }, { id: 'q3' }],
    }
    const answers = { q1: 'this', 'Why?': ['a', 'b'] }
    const method = 'item/tool/requestUserInput'
    expect(answer(method, { behavior: 'allow', updatedInput: { answers } }, params).result).toEqual({
      answers: { q1: { answers: ['this'] }, q2: { answers: ['a', 'b'] } },
    })
    expect(answer(method, { behavior: 'deny' }, params).result).toEqual({ answers: {} })
  })

  test('a request of an unknown kind cannot be allowed', () => {
    const { result, decision } = answer('item/new', { behavior: 'allow' })
    expect(result).toBeUndefined()
    expect(decision.behavior).toBe('deny')
  })
})
