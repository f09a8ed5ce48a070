import { isDeepStrictEqual } from 'node:util'
import type { PermissionDecision } from '@chirality/core'
import type { RpcRequest } from '../../process/json-rpc.ts'

export interface CodexAnswer {
  /** The final decision. */
  decision: PermissionDecision & { message?: string }
  /** The result that answers the request. If undefined, only an error can be sent. */
  result?: Record<string, unknown>
  /** A notice for the user if the decision could not be applied in full. */
  note?: string
}

/** A decision in the format of one of Codex's requests. `input` is the input that the user was shown. */
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

/** Codex runs the original input or nothing. An input that the user changed must not run unchanged. */
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

/**
 * The rule that Codex proposes for similar calls: a prefix of the command, or a host. Undefined if it proposes none.
 */
function lastingRule(params: Record<string, unknown>): Record<string, unknown> | undefined {
  const { proposedExecpolicyAmendment: words, proposedNetworkPolicyAmendments: hosts } = params
  if (Array.isArray(words) && words.length > 0)
    return { acceptWithExecpolicyAmendment: { execpolicy_amendment: words } }
  const rules = Array.isArray(hosts) ? (hosts as { action?: unknown }[]) : []
  const allowing = rules.find(rule => rule?.action === 'allow')
  return allowing && { applyNetworkPolicyAmendment: { network_policy_amendment: allowing } }
}

/** An MCP tool states for how long a permission can be given. */
function offersForever({ _meta }: Record<string, unknown>): boolean {
  const { persist } = (_meta ?? {}) as { persist?: unknown }
  return persist === 'always' || (Array.isArray(persist) && persist.includes('always'))
}

/** A notice for a user who chose "always" and gets less. */
function noted(answer: CodexAnswer): CodexAnswer {
  return isForever(answer.decision) ? { ...answer, note: ONLY_SESSION } : answer
}

const ONLY_SESSION = 'Codex keeps no rule for this beyond the session: it is allowed until the session ends.'

/** The permission to call a tool is requested in the form of a question from the tool's server. */
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

/** The values that the user filled in. */
function content(decision: PermissionDecision): Record<string, unknown> {
  return (decision.behavior === 'allow' && decision.updatedInput) || {}
}

function permissions(params: Record<string, unknown>, decision: PermissionDecision): Record<string, unknown> {
  if (decision.behavior === 'deny') return { permissions: {}, scope: 'turn' }
  const scope = decision.remember ? 'session' : 'turn'
  return { permissions: params.permissions ?? {}, scope }
}

/** Answers have the form `{ answers: { question: text } }`, by the question's id or its text. */
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
