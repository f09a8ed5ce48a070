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

  test('what a person filled in goes back to the MCP server that asked', () => {
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

  test('what is not known cannot be allowed', () => {
    const { result, decision } = answer('item/new', { behavior: 'allow' })
    expect(result).toBeUndefined()
    expect(decision.behavior).toBe('deny')
  })
})
