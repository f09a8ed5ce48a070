import type { PermissionDecision } from '@chirality/core'

/** The result that answers one of Codex's requests. `undefined`: nothing but an error can answer this one. */
export function codexAnswer(
  method: string,
  params: Record<string, unknown>,
  decision: PermissionDecision,
): Record<string, unknown> | undefined {
  switch (method) {
    case 'item/commandExecution/requestApproval':
    case 'item/fileChange/requestApproval':
      return { decision: approval(decision) }
    case 'mcpServer/elicitation/request':
      return elicitation(decision)
    case 'item/tool/requestUserInput':
      return { answers: decision.behavior === 'allow' ? userInput(params, decision.updatedInput) : {} }
    default:
      return undefined
  }
}

/** `decline` lets the turn go on without it; `cancel` ends the turn. */
function approval(decision: PermissionDecision): string {
  if (decision.behavior === 'deny') return decision.interrupt ? 'cancel' : 'decline'
  return decision.remember === 'session' ? 'acceptForSession' : 'accept'
}

function elicitation(decision: PermissionDecision): Record<string, unknown> {
  if (decision.behavior === 'deny') {
    return { action: decision.interrupt ? 'cancel' : 'decline', content: null, _meta: null }
  }
  const persist = decision.remember === 'session' ? { persist: 'session' } : null
  return { action: 'accept', content: decision.updatedInput ?? {}, _meta: persist }
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
