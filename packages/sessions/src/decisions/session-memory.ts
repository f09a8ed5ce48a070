import type { PermissionRequestEvent } from '@chirality/core'
import { type PolicyRule, parsePolicyRule } from '@chirality/personas'
import type { AskContext } from './ask-context.ts'
import { ruleMatches } from './policy/match-rule.ts'
import { argumentText, describeCall, sortedJson } from './policy/tool-call.ts'

interface Allowed {
  /** By tool and argument, because a call that no rule can express is stored too. */
  calls: Map<string, string>
  rules: Map<string, PolicyRule>
}

/** The calls that people allowed "for the session": the rule on the request, and the exact call. Never on disk. */
export class SessionMemory {
  readonly #allowed = new Map<string, Allowed>()

  add(context: AskContext, request: PermissionRequestEvent): void {
    if (request.kind !== 'tool') return
    const { key, text } = sameCall(context, request)
    const allowed = this.#allowed.get(context.sessionId) ?? { calls: new Map(), rules: new Map() }
    this.#allowed.set(context.sessionId, allowed)
    const rule = request.always && parsePolicyRule(request.always.rule, 1).rule
    if (rule !== undefined) allowed.rules.set(rule.text, rule)
    allowed.calls.set(key, rule === undefined ? text : `${SESSION_RULE}${rule.text}`)
  }

  /** The entry that allows this request, if there is one. */
  ruleFor(context: AskContext, request: PermissionRequestEvent): string | undefined {
    const allowed = this.#allowed.get(context.sessionId)
    if (allowed === undefined || request.kind !== 'tool') return undefined
    const same = allowed.calls.get(sameCall(context, request).key)
    if (same !== undefined) return same
    const call = describeCall(request, context)
    for (const rule of allowed.rules.values())
      if (ruleMatches(rule, call)) return `${SESSION_RULE}${rule.text}`
    return undefined
  }

  forget(sessionId: string): void {
    this.#allowed.delete(sessionId)
  }
}

/** Distinguishes an answer by this memory from one by a file. */
export const SESSION_RULE = 'session: '

/**
 * The same tool with the same argument; for an MCP tool the whole input. A call that asks for more has to be the same
 * in every field.
 */
function sameCall(context: AskContext, request: PermissionRequestEvent): { key: string; text: string } {
  const { toolName, argument, asksForMore } = describeCall(request, context)
  const shown = argumentText(argument)
  const text = `${SESSION_RULE}allow ${toolName}(${shown})`
  const whole = asksForMore ? sortedJson(request.input) : undefined
  const paths = argument.kind === 'paths' ? argument.paths.map(({ real }) => real) : undefined
  return { key: JSON.stringify([toolName, paths ?? shown, whole]), text }
}
