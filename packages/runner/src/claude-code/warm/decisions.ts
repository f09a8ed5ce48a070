import type { PermissionDecision } from '@chirality/core'

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
    const message = decision.message?.trim() || DENIED
    if (question.subtype !== TOOL_USE) return { error: message }
    return { response: { behavior: 'deny', message, ...(decision.interrupt ? { interrupt: true } : {}) } }
  }
  // 2.1.197 takes an allow without its input for a no.
  const updatedInput = decision.updatedInput ?? question.input
  if (!decision.remember) return { response: { behavior: 'allow', updatedInput } }
  const rule = narrowest(question.suggestions)
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

const TOOL_USE = 'can_use_tool'
const DENIED = 'The user does not allow this.'
const NOTHING_TO_REMEMBER = 'Allowed once: the agent suggests no rule for the like of it.'

/** A rule about this very call goes before one about the tool, a folder, or the mode of the whole session. */
function narrowest(suggestions: unknown[]): Record<string, unknown> | undefined {
  const known = suggestions.map(asObject).filter(suggestion => breadth(suggestion) < TOO_BROAD)
  return known.sort((a, b) => breadth(a) - breadth(b))[0]
}

function breadth(suggestion: Record<string, unknown>): number {
  switch (suggestion.type) {
    case 'addRules':
      return suggestion.behavior === 'allow' ? breadthOfRules(suggestion.rules) : TOO_BROAD
    case 'addDirectories':
      return 3
    case 'setMode':
      return suggestion.mode === 'bypassPermissions' ? TOO_BROAD : 4
    default:
      return TOO_BROAD
  }
}

function breadthOfRules(rules: unknown): number {
  if (!Array.isArray(rules) || rules.length === 0) return TOO_BROAD
  const areNarrow = rules.every(rule => typeof asObject(rule).ruleContent === 'string')
  if (!areNarrow) return 2
  return rules.length === 1 ? 0 : 1
}

const TOO_BROAD = 9

function asObject(value: unknown): Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Record<string, unknown>) : {}
}
