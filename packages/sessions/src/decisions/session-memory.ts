import type { PermissionRequestEvent } from '@chirality/core'
import type { AskContext } from './ask-context.ts'
import { argumentText, describeCall, sortedJson } from './policy/tool-call.ts'

/** What people allowed "for the session", for agents that do not keep it themselves. Never on disk. */
export class SessionMemory {
  readonly #allowed = new Map<string, Map<string, string>>()

  add(context: AskContext, request: PermissionRequestEvent): void {
    if (request.kind !== 'tool') return
    const { key, text } = sameCall(context, request)
    const allowed = this.#allowed.get(context.sessionId) ?? new Map<string, string>()
    this.#allowed.set(context.sessionId, allowed.set(key, text))
  }

  /** What allows this request, if anything does. */
  ruleFor(context: AskContext, request: PermissionRequestEvent): string | undefined {
    const allowed = this.#allowed.get(context.sessionId)
    if (allowed === undefined || request.kind !== 'tool') return undefined
    return allowed.get(sameCall(context, request).key)
  }

  forget(sessionId: string): void {
    this.#allowed.delete(sessionId)
  }
}

/** How an answer by this memory is told from one by a file. */
export const SESSION_RULE = 'session: '

/** Whether the agent can keep the answer for its session, by a rule that it suggests itself. */
export function agentRemembers(request: PermissionRequestEvent): boolean {
  return (request.suggestions ?? []).some(suggestion => {
    // Codex names what it can do, Claude offers whole rules.
    if (typeof suggestion === 'string') return SESSION_WORDS.has(suggestion)
    return (suggestion as { type?: unknown } | null)?.type === 'addRules'
  })
}

const SESSION_WORDS = new Set(['acceptForSession', 'session'])

/** The same tool with the same argument, of an MCP tool all of its input. What asks for more has to be the same in all. */
function sameCall(
  { projectRoot }: AskContext,
  request: PermissionRequestEvent,
): { key: string; text: string } {
  const { toolName, argument, asksForMore } = describeCall(request, projectRoot)
  const shown = argumentText(argument)
  const text = `${SESSION_RULE}allow ${toolName}(${shown})`
  const whole = asksForMore ? sortedJson(request.input) : undefined
  const paths = argument.kind === 'paths' ? argument.paths.map(({ real }) => real) : undefined
  return { key: JSON.stringify([toolName, paths ?? shown, whole]), text }
}
