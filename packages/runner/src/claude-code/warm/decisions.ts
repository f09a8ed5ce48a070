import { narrowestSuggestion, type PermissionDecision } from '@chirality/core'
import { asObject } from '../../common/json.ts'

/** The agent's question, as far as the answer depends on it. */
export interface ClaudeQuestion {
  subtype: string
  input: Record<string, unknown>
  suggestions: unknown[]
}

/** `response` answers the question; where there is none, only an error can. */
export interface ClaudeAnswer {
  response?: Record<string, unknown>
  error?: string
  /** For the person, when a yes became less than was asked for. */
  note?: string
}

/** A decision in the form that the CLI takes: every other one it takes for a no. */
export function claudeAnswer(question: ClaudeQuestion, decision: PermissionDecision): ClaudeAnswer {
  if (decision.behavior === 'deny') {
    const message = wordsOf(decision.message) || DENIED
    if (question.subtype !== TOOL_USE) return { error: message }
    return { response: { behavior: 'deny', message, ...(decision.interrupt ? { interrupt: true } : {}) } }
  }
  // 2.1.197 takes an allow without its input for a no.
  const updatedInput = decision.updatedInput ?? question.input
  if (!decision.remember) return { response: { behavior: 'allow', updatedInput } }
  const rule = narrowestSuggestion(question.suggestions)?.suggestion
  if (!rule) return { response: { behavior: 'allow', updatedInput }, note: NOTHING_TO_REMEMBER }
  const kept = decision.remember === 'session' ? { ...rule, destination: 'session' } : rule
  return { response: { behavior: 'allow', updatedInput, updatedPermissions: [kept] } }
}

/** What a control request asks. */
export function questionOf(request: unknown): ClaudeQuestion {
  const { subtype, input, permission_suggestions: suggestions } = asObject(request)
  return {
    subtype: String(subtype),
    input: asObject(input),
    suggestions: Array.isArray(suggestions) ? suggestions : [],
  }
}

/** Answers come from programs, too. */
function wordsOf(message: unknown): string {
  return typeof message === 'string' ? message.trim() : ''
}

const TOOL_USE = 'can_use_tool'
const DENIED = 'The user does not allow this.'
const NOTHING_TO_REMEMBER = 'The agent suggests no rule for the like of this.'
