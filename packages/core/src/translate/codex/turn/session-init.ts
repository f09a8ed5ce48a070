import type { UIEvent } from '../../../events/ui-event.ts'
import { asObject, asText, type JsonObject } from '../../../native/loose.ts'
import { present } from '../../shared.ts'
import type { CodexState } from '../state.ts'
import { CODEX_HARNESS, snakeCase } from '../ui.ts'

/** Reports the known facts about the agent. */
export function announce(state: CodexState): UIEvent[] {
  const { model, version, cwd, permissionMode } = state.facts
  const servers = [...state.mcpServers].map(([name, serverStatus]) => ({ name, status: serverStatus }))
  const event = present({
    type: 'session:init' as const,
    sessionId: state.sessionId,
    claudeSessionId: state.threadId,
    model: model ?? '',
    tools: [],
    harness: CODEX_HARNESS,
    version,
    cwd,
    permissionMode,
    mcpServers: servers.length > 0 ? servers : undefined,
  })
  state.announced = JSON.stringify(event)
  return [event]
}

/** Reports only changed facts: app-server repeats them in a response, a notification and with every change. */
export function announceNews(state: CodexState): UIEvent[] {
  const before = state.announced
  const events = announce(state)
  return state.announced === before ? [] : events
}

/** From a response, `thread/started` or `thread/settings/updated`, each with different fields. */
export function learnFacts(state: CodexState, source: JsonObject): void {
  const { facts } = state
  const thread = asObject(source.thread)
  facts.model = asText(source.model) ?? asText(thread?.model) ?? facts.model
  facts.cwd = asText(source.cwd) ?? asText(thread?.cwd) ?? facts.cwd
  // The thread's version is that of the CLI that created it, which can be older.
  facts.version ??= asText(thread?.cliVersion)
  facts.permissionMode = permissionMode(source) ?? facts.permissionMode
}

/** `chirality/0.166.0 (Debian 12.0.0; x86_64) …` from the response to `initialize`. */
export function learnVersion(state: CodexState, userAgent: string): void {
  const version = /\/(\d+\.\d+\S*)/.exec(userAgent)?.[1]
  if (version) state.facts.version = version
}

/** The sandbox and approval policy in the terms of the command line: `workspace-write, on-request`. */
function permissionMode(source: JsonObject): string | undefined {
  const sandbox = asText(asObject(source.sandbox ?? source.sandboxPolicy)?.type)
  const approval = source.approvalPolicy
  const asks = asText(approval) ?? (asObject(approval) ? 'granular' : undefined)
  return sandbox && [snakeCase(sandbox).replaceAll('_', '-'), asks].filter(Boolean).join(', ')
}
