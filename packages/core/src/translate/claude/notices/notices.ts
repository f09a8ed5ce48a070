import type { StatusEvent, UIEvent } from '../../../events/ui-event.ts'
import type {
  ClaudeActiveGoalEvent,
  ClaudeAuthStatusEvent,
  ClaudeConversationResetEvent,
} from '../../../native/claude/other-events.ts'
import type {
  ClaudeHookEvent,
  ClaudeHousekeepingEvent,
  ClaudeInformationalEvent,
} from '../../../native/claude/system-events.ts'
import { asArray, asNumber, asObject, asStrings, asText } from '../../../native/loose.ts'
import { headline, type StatusDetails, status } from '../../shared.ts'
import type { TranslatorState } from '../state.ts'

/** A notice; `data.kind` is the native event's name. Empty if there is no text. */
export function claudeNotice(state: TranslatorState, kind: string, details: StatusDetails): UIEvent[] {
  if (details.message.trim() === '') return []
  return [status(state, 'notice', { ...details, data: { kind, ...details.data } })]
}

export function translateInformational(state: TranslatorState, event: ClaudeInformationalEvent): UIEvent[] {
  return claudeNotice(state, 'informational', {
    message: asText(event.content) ?? '',
    level: LEVELS.get(event.level) ?? 'info',
    toolUseId: asText(event.tool_use_id),
  })
}

export function translateReset(state: TranslatorState, event: ClaudeConversationResetEvent): UIEvent[] {
  state.ledger.reset()
  state.isResetTold = true
  return resetNotice(state, asText(event.trigger))
}

export function resetNotice(state: TranslatorState, trigger?: string): UIEvent[] {
  return claudeNotice(state, 'conversation_reset', {
    message: 'The agent began a new conversation',
    data: trigger === undefined ? {} : { trigger },
  })
}

export function translateAuthStatus(state: TranslatorState, event: ClaudeAuthStatusEvent): UIEvent[] {
  const error = asText(event.error)
  const message = error ?? asStrings(event.output).join('\n')
  return claudeNotice(state, 'auth_status', { message, level: error ? 'error' : 'info' })
}

export function translateGoal(state: TranslatorState, event: ClaudeActiveGoalEvent): UIEvent[] {
  const goal = asObject(event.value)
  const condition = asText(goal?.condition)
  const message = condition ? `Goal: ${condition}` : 'No goal any more'
  return claudeNotice(state, 'active_goal', { message, data: { ...goal } })
}

/** Rare events with one message; those without a text are not shown. */
export function translateHousekeeping(state: TranslatorState, event: ClaudeHousekeepingEvent): UIEvent[] {
  const kind = event.subtype
  switch (kind) {
    case 'memory_recall':
      return claudeNotice(state, kind, { message: `Recalled from memory: ${asArray(event.memories).length}` })
    case 'mirror_error':
      return claudeNotice(state, kind, {
        message: `Transcript not mirrored: ${asText(event.error) ?? 'unknown'}`,
        level: 'warn',
      })
    case 'plugin_install':
      return translatePluginInstall(state, event)
    case 'session_writes_lost':
      return claudeNotice(state, kind, {
        message: `The agent could not save its transcript (${asText(event.error_code) ?? 'unknown'}): resuming may miss part of it`,
        level: 'error',
      })
    case 'worker_shutting_down':
      return claudeNotice(state, kind, {
        message: `The agent is shutting down: ${asText(event.reason) ?? 'no reason given'}`,
        level: 'warn',
      })
    case 'commands_changed':
    case 'control_request_progress':
    case 'elicitation_complete':
    case 'files_persisted':
    case 'post_turn_summary':
    case 'stop_hook_summary':
    case 'thinking_tokens':
    case 'turn_duration':
      return []
  }
}

function translatePluginInstall(state: TranslatorState, event: ClaudeHousekeepingEvent): UIEvent[] {
  const name = asText(event.name) ?? 'plugins'
  const failed = event.status === 'failed'
  const message = failed
    ? `Plugin ${name} failed to install: ${asText(event.error) ?? 'unknown'}`
    : `Plugin ${name}: ${asText(event.status) ?? 'changed'}`
  return claudeNotice(state, 'plugin_install', { message, level: failed ? 'warn' : 'info' })
}

const LEVELS: ReadonlyMap<unknown, StatusEvent['level']> = new Map([
  ['warning', 'warn'],
  ['error', 'error'],
] as const)

function saidToPerson(printed: string): string {
  if (!printed.startsWith('{')) return printed
  try {
    return asText(asObject(JSON.parse(printed))?.systemMessage) ?? ''
  } catch {
    return printed
  }
}

/** A hook that succeeds is shown if it says something to a person: an object is for the agent, but for its message. */
export function translateHook(state: TranslatorState, event: ClaudeHookEvent): UIEvent[] {
  if (event.subtype === 'hook_started') return []
  const exitCode = asNumber(event.exit_code)
  const outcome = asText(event.outcome)
  const printed = (asText(event.output) ?? asText(event.stderr) ?? asText(event.stdout) ?? '').trim()
  const failed =
    event.subtype === 'hook_response' && ((outcome ?? 'success') !== 'success' || (exitCode ?? 0) !== 0)
  const output = failed ? printed : saidToPerson(printed)
  if (!failed && output === '') return []
  const name = asText(event.hook_name) ?? asText(event.hook_event) ?? 'hook'
  const how = !failed
    ? ''
    : outcome === 'cancelled'
      ? ' was cancelled'
      : ` failed${exitCode ? ` (exit ${exitCode})` : ''}`
  return [
    status(state, 'hook', {
      message: `Hook ${name}${how}${output ? `: ${headline(output)}` : ''}`,
      level: failed ? 'warn' : 'info',
      data: { hook: name, hookEvent: asText(event.hook_event), outcome, exitCode, output },
    }),
  ]
}
