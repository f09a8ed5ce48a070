import type { PermissionRequestEvent } from '@chirality/core'
import type { AskContext } from './ask-context.ts'

/** What people allowed "for the session", for agents that do not keep it themselves. Never on disk. */
export class SessionMemory {
  readonly #rules = new Map<string, Set<string>>()

  add({ sessionId }: AskContext, request: PermissionRequestEvent): void {
    if (request.kind !== 'tool') return
    const rules = this.#rules.get(sessionId) ?? new Set()
    rules.add(ruleText(request))
    this.#rules.set(sessionId, rules)
  }

  /** The rule that allows this request. */
  ruleFor({ sessionId }: AskContext, request: PermissionRequestEvent): string | undefined {
    if (request.kind !== 'tool') return undefined
    const text = ruleText(request)
    return this.#rules.get(sessionId)?.has(text) ? `session: ${text}` : undefined
  }

  forget(sessionId: string): void {
    this.#rules.delete(sessionId)
  }
}

/** Whether the agent's own suggestions let it keep the answer; then ours would only be a second copy. */
export function agentRemembers(request: PermissionRequestEvent, scope: 'session' | 'always'): boolean {
  return (request.suggestions ?? []).some(suggestion => {
    // Codex names what it can do, Claude offers whole rules.
    if (typeof suggestion === 'string') return scope === 'session' && SESSION_WORDS.has(suggestion)
    return typeof suggestion === 'object' && suggestion !== null && 'type' in suggestion
  })
}

const SESSION_WORDS = new Set(['acceptForSession', 'session'])

function ruleText({ toolName, input }: PermissionRequestEvent): string {
  return `allow ${toolName}(${JSON.stringify(input)})`
}
