import type { UIEvent } from '../../../events/ui-event.ts'
import { permissionLabel } from '../../../harness/choices.ts'
import type {
  ClaudeLocalCommandOutputEvent,
  ClaudeModelFallbackEvent,
  ClaudePermissionDeniedEvent,
  ClaudeSystemCompactBoundaryEvent,
  ClaudeSystemEvent,
  ClaudeSystemInitEvent,
  ClaudeSystemStatusEvent,
} from '../../../native/claude/system-events.ts'
import { asArray, asNumber, asObject, asStrings, asText } from '../../../native/loose.ts'
import { present, status } from '../../shared.ts'
import { reportRefusal, retract } from '../answer/open-block.ts'
import { type TranslatorState, unknownOfClaude } from '../state.ts'
import { translateBackgroundTasks, translateTask, translateTaskUpdate } from '../tools/tasks.ts'
import {
  claudeNotice,
  resetNotice,
  translateHook,
  translateHousekeeping,
  translateInformational,
} from './notices.ts'
import { translateApiRetry } from './retries.ts'

export function translateSystem(state: TranslatorState, event: ClaudeSystemEvent): UIEvent[] {
  switch (event.subtype) {
    case 'init':
      return translateInit(state, event)
    case 'status':
      return translateStatus(state, event)
    case 'api_retry':
      return translateApiRetry(state, event)
    case 'compact_boundary':
      return translateCompacted(state, event)
    case 'hook_started':
    case 'hook_progress':
    case 'hook_response':
      return translateHook(state, event)
    case 'informational':
      return translateInformational(state, event)
    case 'notification':
      return claudeNotice(state, event.subtype, { message: asText(event.text) ?? '' })
    case 'local_command_output':
      return translateLocalOutput(state, event)
    case 'model_fallback':
    case 'model_refusal_fallback':
      return translateFallback(state, event)
    case 'model_refusal_no_fallback':
      return reportRefusal(state, state.main, event)
    case 'permission_denied':
      return translateDenied(state, event)
    case 'session_state_changed':
      return event.state === 'idle' ? [status(state, 'idle', { message: 'Idle' })] : []
    case 'session_title_changed': {
      const title = asText(event.title) ?? ''
      return claudeNotice(state, event.subtype, { message: title && `Title: ${title}`, data: { title } })
    }
    case 'task_started':
    case 'task_progress':
    case 'task_notification':
      return translateTask(state, event)
    case 'task_updated':
      return translateTaskUpdate(state, event)
    case 'background_tasks_changed':
      return translateBackgroundTasks(state, event)
    default:
      return translateHousekeeping(state, event)
  }
}

function translateStatus(state: TranslatorState, event: ClaudeSystemStatusEvent): UIEvent[] {
  const events: UIEvent[] = []
  const mode = asText(event.permissionMode)
  if (mode && mode !== state.permissionMode) {
    state.permissionMode = mode
    events.push(
      status(state, 'permission_mode', {
        message: `Permission mode: ${permissionLabel(mode)}`,
        data: { mode },
      }),
    )
  }
  if (event.compact_result === 'failed') {
    const why = asText(event.compact_error)
    const message = `Compacting failed${why ? `: ${why}` : ''}`
    events.push(...claudeNotice(state, 'compact_failed', { message, level: 'warn' }))
  }
  if (event.status === 'requesting') {
    events.push(status(state, 'requesting', { message: 'Waiting for the model' }))
  } else if (event.status === 'compacting') {
    events.push(status(state, 'compacting', { message: 'Compacting the conversation' }))
  } else if (typeof event.status === 'string') {
    events.push(unknownOfClaude(state, 'system/status', event))
  }
  return events
}

function translateCompacted(state: TranslatorState, event: ClaudeSystemCompactBoundaryEvent): UIEvent[] {
  const meta = asObject(event.compact_metadata)
  const preTokens = asNumber(meta?.pre_tokens)
  const postTokens = asNumber(meta?.post_tokens)
  const sizes =
    preTokens === undefined
      ? ''
      : ` from ${preTokens}${postTokens === undefined ? '' : ` to ${postTokens}`} tokens`
  return [
    status(state, 'compacted', {
      message: `Conversation compacted${sizes}`,
      data: {
        trigger: asText(meta?.trigger),
        preTokens,
        postTokens,
        durationMs: asNumber(meta?.duration_ms),
      },
    }),
  ]
}

function translateFallback(state: TranslatorState, event: ClaudeModelFallbackEvent): UIEvent[] {
  const from = asText(event.original_model)
  const to = asText(event.fallback_model)
  const message = asText(event.content) ?? `Switched from ${from ?? 'the model'} to ${to ?? 'another one'}`
  return [
    ...retract(state, asStrings(event.retracted_message_uuids)),
    status(state, 'model_fallback', {
      message,
      level: 'warn',
      data: { trigger: asText(event.trigger), originalModel: from, fallbackModel: to },
    }),
  ]
}

function translateDenied(state: TranslatorState, event: ClaudePermissionDeniedEvent): UIEvent[] {
  const toolUseId = asText(event.tool_use_id)
  const toolName = asText(event.tool_name) ?? 'A tool'
  if (toolUseId) state.knownDenials.add(toolUseId)
  const reason = asText(event.decision_reason)
  return [
    status(state, 'permission_denied', {
      message: `${toolName} was not allowed to run${reason ? `: ${reason}` : ''}`,
      level: 'warn',
      toolUseId,
      parentToolUseId: state.tools.get(toolUseId ?? '')?.parentToolUseId,
      data: { toolName, reasonType: asText(event.decision_reason_type), detail: asText(event.message) },
    }),
  ]
}

/** The output of a slash command is an answer like any other. */
function translateLocalOutput(state: TranslatorState, event: ClaudeLocalCommandOutputEvent): UIEvent[] {
  const text = asText(event.content)
  if (!text) return []
  const messageId = `${asText(event.uuid) ?? 'local'}#0`
  return [{ type: 'chat:message', sessionId: state.sessionId, messageId, text }]
}

/** Comes with every turn. Each one counts: `/clear` changes the id, and a person can change the model. */
export function translateInit(state: TranslatorState, event: ClaudeSystemInitEvent): UIEvent[] {
  const before = state.nativeSessionId
  state.nativeSessionId = asText(event.session_id) ?? before
  // 2.1.197 does not report a `/clear`: another id in the same process is the only sign.
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
