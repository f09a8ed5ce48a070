import type { UIEvent } from '../../../events/ui-event.ts'
import type { ClaudeInitEvent } from '../../../native/claude/system-events.ts'
import { asArray, asObject, asStrings, asText } from '../../../native/loose.ts'
import type { TranslatorState } from '../state.ts'
import { present } from '../ui.ts'
import { resetNotice } from './notices.ts'

/** Comes with every turn. Each one counts: `/clear` changes the id, and a person can change the model. */
export function translateInit(state: TranslatorState, event: ClaudeInitEvent): UIEvent[] {
  const before = state.nativeSessionId
  state.nativeSessionId = asText(event.session_id) ?? before
  // 2.1.197 says nothing of a `/clear`: another id in the same process is the only sign.
  const isUntold = before !== null && before !== state.nativeSessionId && !state.isResetTold
  state.isResetTold = false
  state.credential = VARIABLE.exec(asText(event.apiKeySource) ?? '')?.[0]
  state.permissionMode = asText(event.permissionMode) ?? null
  return [
    ...(isUntold ? resetNotice(state) : []),
    present({
      type: 'session:init',
      sessionId: state.sessionId,
      claudeSessionId: state.nativeSessionId,
      model: asText(event.model) ?? '',
      tools: asStrings(event.tools),
      harness: state.harness,
      version: asText(event.claude_code_version),
      cwd: asText(event.cwd),
      permissionMode: asText(event.permissionMode),
      mcpServers: event.mcp_servers === undefined ? undefined : mcpServers(event.mcp_servers),
      slashCommands: event.slash_commands === undefined ? undefined : asStrings(event.slash_commands),
      apiKeySource: asText(event.apiKeySource),
    }),
  ]
}

/** As in ANTHROPIC_API_KEY; other sources are a login, a helper, or `none`. */
const VARIABLE = /^[A-Z][A-Z0-9_]+$/

function mcpServers(servers: unknown): { name: string; status: string }[] {
  return asArray(servers).flatMap(value => {
    const server = asObject(value)
    const name = asText(server?.name)
    return name ? [{ name, status: asText(server?.status) ?? 'unknown' }] : []
  })
}
