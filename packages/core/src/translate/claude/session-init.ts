import type { ClaudeInitEvent } from '../../native/claude/system-events.ts'
import { asArray, asObject, asStrings, asText } from '../../native/loose.ts'
import type { UIEvent } from '../../ui-event.ts'
import type { TranslatorState } from './state.ts'
import { present } from './ui.ts'

/** Comes with every turn. Each one counts: `/clear` changes the id, and a person can change the model. */
export function translateInit(state: TranslatorState, event: ClaudeInitEvent): UIEvent[] {
  state.nativeSessionId = asText(event.session_id) ?? state.nativeSessionId
  state.permissionMode = asText(event.permissionMode) ?? null
  return [
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

function mcpServers(servers: unknown): { name: string; status: string }[] {
  return asArray(servers).flatMap(value => {
    const server = asObject(value)
    const name = asText(server?.name)
    return name ? [{ name, status: asText(server?.status) ?? 'unknown' }] : []
  })
}
