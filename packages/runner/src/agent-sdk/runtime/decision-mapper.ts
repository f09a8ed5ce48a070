import type { AgentSdkHarnessConfig } from '../config.ts'
import type { HookName, WorkerResponse } from '../protocol/worker-messages.ts'
import { translateHook } from './event-translator.ts'
import type { RuntimeDecision, RuntimeIntent } from './runtime-event.ts'

/**
 * A decision in the format that the agent expects for this hook. The agent ignores a format it does not understand and
 * continues, so each one here was verified, and a decision that does not fit its hook blocks.
 */
export function mapDecision(hookName: HookName, decision: RuntimeDecision): Record<string, unknown> {
  switch (decision.type) {
    case 'passthrough':
      return {}
    case 'block':
      return block(hookName, decision.reason)
    case 'intent':
      return mapIntent(hookName, decision.intent)
    default:
      return block(hookName, 'The decision makes no sense.')
  }
}

/** The answer to a hook when the decision failed. */
export function block(hookName: HookName, reason: string): Record<string, unknown> {
  const said = reason.trim() || 'Blocked.'
  if (hookName === 'PreToolUse') return preToolUse({ permissionDecision: 'deny' }, said)
  if (hookName === 'PermissionRequest') return permissionRequest({ behavior: 'deny', message: said })
  return { decision: 'block', reason: said }
}

function mapIntent(hookName: HookName, intent: RuntimeIntent): Record<string, unknown> {
  switch (intent.kind) {
    case 'pre_tool_allow':
      if (hookName !== 'PreToolUse') break
      return preToolUse({ permissionDecision: 'allow', ...changed(intent) }, intent.reason)
    case 'pre_tool_deny':
      if (hookName !== 'PreToolUse') break
      return block(hookName, intent.reason)
    case 'permission_allow':
      if (hookName !== 'PermissionRequest') break
      return permissionRequest({ behavior: 'allow', ...changed(intent) })
    case 'permission_deny':
      if (hookName !== 'PermissionRequest') break
      return block(hookName, intent.reason)
  }
  return block(hookName, `${intent.kind} is no answer to ${hookName}.`)
}

/**
 * Without `hookEventName`, or with `reason` in place of `permissionDecisionReason`, the agent ignores the answer and
 * the tool runs.
 */
function preToolUse(decision: Record<string, unknown>, reason: string | undefined): Record<string, unknown> {
  const why = reason === undefined ? {} : { permissionDecisionReason: reason }
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision, ...why } }
}

function permissionRequest(decision: Record<string, unknown>): Record<string, unknown> {
  return { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } }
}

function changed({ updatedInput }: { updatedInput?: Record<string, unknown> }): Record<string, unknown> {
  return updatedInput === undefined ? {} : { updatedInput }
}

/** Answers a hook. Never rejects: a failed decision blocks. */
export async function answerHook(
  { requestId, hookName, hookInput }: Extract<WorkerResponse, { type: 'hook_event' }>,
  { onRuntimeEvent }: Pick<AgentSdkHarnessConfig, 'onRuntimeEvent'>,
): Promise<Record<string, unknown>> {
  const event = translateHook(requestId, hookName, hookInput)
  try {
    const decided = onRuntimeEvent?.(event)
    if (event.expectsDecision) return mapDecision(hookName, (await decided) ?? { type: 'passthrough' })
    // A hook without a decision is not waited for.
    void Promise.resolve(decided).catch(() => {})
  } catch (error) {
    if (event.expectsDecision) return block(hookName, `The decision failed: ${String(error)}`)
  }
  return {}
}
