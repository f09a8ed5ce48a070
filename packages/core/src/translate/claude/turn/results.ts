import type { UIEvent } from '../../../events/ui-event.ts'
import type { ClaudePermissionDenial, ClaudeResultEvent } from '../../../native/claude/other-events.ts'
import { asArray, asNumber, asObject, asString, asText, isObject } from '../../../native/loose.ts'
import { present, status } from '../../shared.ts'
import { reportRecovered } from '../answer/assistant-events.ts'
import { closeOpenBlock, cutAnswer, endOpenCalls, reportRefusal, tellHeld } from '../answer/open-block.ts'
import { flushUsage } from '../answer/stream-events.ts'
import type { ClaudeOutcome, TranslatorState } from '../state.ts'
import { reportUnannounced } from '../tools/tasks.ts'
import { describeClaudeFailure, endReason, hasFailed, wasAborted } from './failure.ts'

/** The end of a turn. */
export function translateResult(state: TranslatorState, result: ClaudeResultEvent): UIEvent[] {
  const failed = hasFailed(result)
  const denials = asArray(result.permission_denials).filter(isObject) as ClaudePermissionDenial[]
  const events = [
    ...closeAnswer(state, result),
    ...flushUsage(state, state.main),
    ...(failed || wasAborted(state, result) ? endOpenCalls(state) : []),
    ...reportUnannounced(state),
    ...(failed ? [] : reportRecovered(state, state.main)),
    ...reportDenials(state, denials),
    ...(result.stop_reason === 'refusal' ? reportRefusal(state, state.main) : []),
  ]
  if (!failed && !state.nativeSessionId) state.nativeSessionId = asText(result.session_id) ?? null
  const outcome = settle(state, result, denials)
  state.outcome = outcome
  events.push(...(outcome.isError ? [errorEvent(state, outcome)] : completeEvents(state, outcome)))
  endTurn(state)
  return events
}

function closeAnswer(state: TranslatorState, result: ClaudeResultEvent): UIEvent[] {
  if (wasAborted(state, result)) return cutAnswer(state, state.main)
  const how = hasFailed(result) ? 'aborted' : 'discarded'
  return [...tellHeld(state.main), ...closeOpenBlock(state, state.main, how)]
}

function settle(
  state: TranslatorState,
  result: ClaudeResultEvent,
  permissionDenials: ClaudePermissionDenial[],
): ClaudeOutcome {
  const origin = asText(asObject(result.origin)?.kind)
  const common = {
    ...state.ledger.settle(result),
    durationMs: asNumber(result.duration_ms),
    numTurns: asNumber(result.num_turns),
    origin: origin === 'human' ? undefined : origin,
    permissionDenials,
    nativeSessionId: state.nativeSessionId,
  }
  if (hasFailed(result)) {
    const { code, error, apiStatus } = describeClaudeFailure(state, result)
    return present({ ...common, reason: endReason(code), isError: true, errorCode: code, error, apiStatus })
  }
  return present({
    ...common,
    reason: wasAborted(state, result) ? 'interrupted' : 'completed',
    isError: false,
    finalText: asString(result.result) ?? '',
    structuredOutput: result.structured_output,
    // Our own agent names it.
    forkPoint: wasAborted(state, result)
      ? undefined
      : (asText(result.fork_point) ?? state.forkPoint ?? undefined),
  })
}

function completeEvents(state: TranslatorState, outcome: ClaudeOutcome): UIEvent[] {
  const { sessionId } = state
  const { finalText = '', structuredOutput, costUsd, usage, durationMs, numTurns, origin } = outcome
  const { forkPoint } = outcome
  return [
    present({ type: 'chat:complete', sessionId, text: finalText, structuredOutput }),
    present({ type: 'session:complete', sessionId, costUsd, usage, durationMs, numTurns, origin, forkPoint }),
  ]
}

function errorEvent(state: TranslatorState, outcome: ClaudeOutcome): UIEvent {
  const { error = '', errorCode = 'unknown', apiStatus, costUsd, usage } = outcome
  const { sessionId } = state
  const credential = errorCode === 'auth_failed' ? state.credential : undefined
  const common = { sessionId, error, code: errorCode, apiStatus, credential, costUsd, usage }
  return present({ type: 'session:error', ...common })
}

/** For versions that tell of a denied tool only here. */
function reportDenials(state: TranslatorState, denials: ClaudePermissionDenial[]): UIEvent[] {
  return denials.flatMap(denial => {
    const toolUseId = asText(denial.tool_use_id)
    if (toolUseId && state.knownDenials.has(toolUseId)) return []
    if (toolUseId) state.knownDenials.add(toolUseId)
    const toolName = asText(denial.tool_name) ?? 'A tool'
    const data = { toolName, input: asObject(denial.tool_input) }
    const message = `${toolName} was not allowed to run`
    return [status(state, 'permission_denied', { message, level: 'warn', toolUseId, data })]
  })
}

function endTurn(state: TranslatorState): void {
  state.failure = null
  state.isInterrupted = false
  state.lastRetry = null
  state.forkPoint = null
  state.said.clear()
}
