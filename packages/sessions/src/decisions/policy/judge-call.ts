import type { PermissionRequestEvent } from '@chirality/core'
import type { PolicyRule } from '@chirality/personas'
import type { PolicyVerdict } from '../ask-context.ts'
import { ruleMatches } from './match-rule.ts'
import { ignoredRules, type PolicySource, problemLines, ruleName } from './policy-source.ts'
import type { ToolCall } from './tool-call.ts'

/**
 * The decision of the rules about a call. The first match counts, among the user's own and among the project's rules;
 * the stricter of the two wins, so that a project can only restrict. A source with an error contributes no rules, and
 * while there is one nothing is allowed.
 */
export function judgeCall(
  sources: readonly PolicySource[],
  request: Pick<PermissionRequestEvent, 'kind'>,
  call: ToolCall,
): PolicyVerdict {
  const good = sources.filter(({ problems }) => problems.length === 0)
  const broken = sources.filter(({ problems }) => problems.length > 0)
  const own = firstMatch(
    good.filter(({ trusted }) => trusted),
    call,
  )
  const projects = firstMatch(
    good.filter(({ trusted }) => !trusted),
    call,
  )
  const verdict = stricter(own, projects)
  if (verdict.effect === 'deny') return verdict
  if (broken.length > 0) return { effect: 'ask', problem: broken.flatMap(problemLines).join('\n') }
  // Only a person can answer a question, approve a plan, or judge an unknown kind of request.
  return verdict.effect === 'allow' && request.kind !== 'tool' ? { effect: 'ask' } : verdict
}

function firstMatch(sources: PolicySource[], call: ToolCall): PolicyVerdict {
  for (const source of sources) {
    const ignored = new Set<PolicyRule>(ignoredRules(source))
    const rule = source.rules.find(each => !ignored.has(each) && ruleMatches(each, call))
    if (rule !== undefined) return { effect: rule.effect, rule: ruleName(source, rule) }
  }
  return { effect: 'ask' }
}

function stricter(own: PolicyVerdict, projects: PolicyVerdict): PolicyVerdict {
  if (projects.rule === undefined) return own
  if (own.rule === undefined) return projects
  return STRICTNESS[projects.effect] > STRICTNESS[own.effect] ? projects : own
}

const STRICTNESS = { allow: 0, ask: 1, deny: 2 }
