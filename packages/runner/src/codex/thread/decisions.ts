import { isDeepStrictEqual } from 'node:util'
import type { PermissionDecision } from '@chirality/core'
import type { RpcRequest } from '../app-server/json-rpc.ts'

export interface CodexAnswer {
  /** What was decided in the end. */
  decision: PermissionDecision & { message?: string }
  /** The result that answers the request. Without it only an error can. */
  result?: Record<string, unknown>
  /** For the person, when what they asked for could not be had in full. */
  note?: string
}

/** A decision in the form that one of Codex's requests wants it. `input` is what the person was shown. */
export function codexAnswer(
  request: RpcRequest,
  input: Record<string, unknown>,
  decided: PermissionDecision,
): CodexAnswer {
  const { method, params } = request
  if (method === 'item/tool/requestUserInput') {
    const answers = decided.behavior === 'allow' ? userInput(params, decided.updatedInput) : {}
    return { decision: decided, result: { answers } }
  }
  if (method === 'mcpServer/elicitation/request' && !isToolApproval(params))
    return { decision: decided, result: elicitation(decided, content(decided), 'session') }
  const decision = withoutChanges(input, decided)
  switch (method) {
    case 'item/commandExecution/requestApproval': {
      const rule = isForever(decision) ? lastingRule(params) : undefined
      if (rule) return { decision, result: { decision: rule } }
      return noted({ decision, result: { decision: approval(decision) } })
    }
    case 'item/fileChange/requestApproval':
      return noted({ decision, result: { decision: approval(decision) } })
    case 'mcpServer/elicitation/request': {
      const lasts = isForever(decision) && offersForever(params)
      const answer = { decision, result: elicitation(decision, {}, lasts ? 'always' : 'session') }
      return lasts ? answer : noted(answer)
    }
    case 'item/permissions/requestApproval':
      return noted({ decision, result: permissions(params, decision) })
    default:
      return { decision: { behavior: 'deny', message: `Chirality cannot answer ${method}.` } }
  }
}

/** Codex runs what it asked for or nothing. What a person changed must not run unchanged. */
function withoutChanges(input: Record<string, unknown>, decision: PermissionDecision): PermissionDecision {
  if (decision.behavior === 'deny' || decision.updatedInput === undefined) return decision
  if (isDeepStrictEqual(decision.updatedInput, input)) return decision
  const message = 'Codex cannot run a changed input, so it was denied. Tell the agent what to do instead.'
  return { behavior: 'deny', message }
}

/** `decline` lets the turn go on without it; `cancel` ends the turn. */
function approval(decision: PermissionDecision): string {
  if (decision.behavior === 'deny') return decision.interrupt ? 'cancel' : 'decline'
  return decision.remember ? 'acceptForSession' : 'accept'
}

function isForever(decision: PermissionDecision): boolean {
  return decision.behavior === 'allow' && decision.remember === 'always'
}

/** The rule that Codex itself proposes for the like: a beginning of the command, or a host. Undefined when it has none. */
function lastingRule(params: Record<string, unknown>): Record<string, unknown> | undefined {
  const { proposedExecpolicyAmendment: words, proposedNetworkPolicyAmendments: hosts } = params
  if (Array.isArray(words) && words.length > 0)
    return { acceptWithExecpolicyAmendment: { execpolicy_amendment: words } }
  const rules = Array.isArray(hosts) ? (hosts as { action?: unknown }[]) : []
  const allowing = rules.find(rule => rule?.action === 'allow')
  return allowing && { applyNetworkPolicyAmendment: { network_policy_amendment: allowing } }
}

/** An MCP tool says for how long leave can be given. */
function offersForever({ _meta }: Record<string, unknown>): boolean {
  const { persist } = (_meta ?? {}) as { persist?: unknown }
  return persist === 'always' || (Array.isArray(persist) && persist.includes('always'))
}

/** Whoever said "always" and gets less is told. */
function noted(answer: CodexAnswer): CodexAnswer {
  return isForever(answer.decision) ? { ...answer, note: ONLY_SESSION } : answer
}

const ONLY_SESSION = 'Codex keeps no rule for this beyond the session: it is allowed until the session ends.'

/** Leave to call a tool is asked for in the form of a question from the tool's server. */
function isToolApproval({ _meta }: Record<string, unknown>): boolean {
  return (
    (_meta as { codex_approval_kind?: unknown } | null | undefined)?.codex_approval_kind === 'mcp_tool_call'
  )
}

function elicitation(
  decision: PermissionDecision,
  accepted: Record<string, unknown>,
  longest: 'session' | 'always',
): Record<string, unknown> {
  if (decision.behavior === 'deny') {
    return { action: decision.interrupt ? 'cancel' : 'decline', content: null, _meta: null }
  }
  const persist = decision.remember ? { persist: longest } : null
  return { action: 'accept', content: accepted, _meta: persist }
}

/** What a person filled in. */
function content(decision: PermissionDecision): Record<string, unknown> {
  return (decision.behavior === 'allow' && decision.updatedInput) || {}
}

function permissions(params: Record<string, unknown>, decision: PermissionDecision): Record<string, unknown> {
  if (decision.behavior === 'deny') return { permissions: {}, scope: 'turn' }
  const scope = decision.remember ? 'session' : 'turn'
  return { permissions: params.permissions ?? {}, scope }
}

/** Answers come as `{ answers: { question: text } }`, by the question's id or its words. */
function userInput(
  params: Record<string, unknown>,
  input: Record<string, unknown> | undefined,
): Record<string, { answers: string[] }> {
  const given = (input?.answers ?? {}) as Record<string, unknown>
  const questions = Array.isArray(params.questions) ? (params.questions as Record<string, unknown>[]) : []
  const answers: Record<string, { answers: string[] }> = {}
  for (const { id, question } of questions) {
    const answer = given[String(id)] ?? given[String(question)]
    if (answer !== undefined)
      answers[String(id)] = { answers: Array.isArray(answer) ? answer.map(String) : [String(answer)] }
  }
  return answers
}
