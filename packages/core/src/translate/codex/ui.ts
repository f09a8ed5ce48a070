import type { NativeUnknownEvent, StatusEvent, UIEvent } from '../../events/ui-event.ts'
import { type StatusDetails, status } from '../shared.ts'
import type { CodexState } from './state.ts'

export const CODEX_HARNESS = 'codex'

/** A status line; `data.kind` names its subject. Nothing for an empty text. */
export function codexNotice(state: CodexState, kind: string, details: StatusDetails): UIEvent[] {
  if (details.message.trim() === '') return []
  return [status(state, 'notice', { ...details, data: { kind, ...details.data } })]
}

/** Reported once, because one problem often causes two events. */
export function warning(state: CodexState, message: string, level: StatusEvent['level'] = 'warn'): UIEvent[] {
  if (state.turn.warned.has(message)) return []
  state.turn.warned.add(message)
  return codexNotice(state, 'warning', { message, level })
}

export function unknownOfCodex(state: CodexState, nativeType: string, raw: unknown): NativeUnknownEvent {
  return { type: 'native:unknown', sessionId: state.sessionId, harness: CODEX_HARNESS, nativeType, raw }
}

/** app-server says `mcpToolCall` where `exec` says `mcp_tool_call`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, '_$&').toLowerCase()
}
