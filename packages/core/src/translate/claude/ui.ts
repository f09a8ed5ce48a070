import type { NativeUnknownEvent, StatusEvent, StatusKind } from '../../events/ui-event.ts'
import { present, type StatusDetails } from '../shared.ts'
import type { TranslatorState } from './state.ts'

export const HARNESS_ID = 'claude-code'

export function status(state: TranslatorState, kind: StatusKind, details: StatusDetails): StatusEvent {
  const { message, level = 'info', toolUseId, parentToolUseId, data } = details
  return present({
    type: 'status',
    sessionId: state.sessionId,
    status: kind,
    message,
    level,
    toolUseId,
    parentToolUseId,
    data: data && present(data),
  })
}

export function unknown(state: TranslatorState, nativeType: string, raw: unknown): NativeUnknownEvent {
  return { type: 'native:unknown', sessionId: state.sessionId, harness: state.harness, nativeType, raw }
}
