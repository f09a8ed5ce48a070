import type { SessionErrorCode, TurnEndReason, UIEvent } from '../../../events/ui-event.ts'
import { present } from '../../shared.ts'
import { closeSpeech } from '../speech.ts'
import type { CodexOutcome, CodexState, PendingFailure } from '../state.ts'
import { withdrawRequests } from '../tools/requests.ts'
import { failOpenTools, forgetFinishedTools } from '../tools/tools.ts'
import { codexNotice } from '../ui.ts'
import { describeCodexFailure } from './failure.ts'
import { reportOvercome } from './retries.ts'

export type TurnEnd = { durationMs?: number } & (
  | { status: 'completed'; forkPoint?: string }
  | { status: 'failed'; failure: PendingFailure | null }
  | { status: 'interrupted'; failure: PendingFailure | null }
)

/** Closes open items and reports the end of the turn, for both protocols. */
export function endTurn(state: CodexState, end: TurnEnd): UIEvent[] {
  const pending = state.turn.failure
  const events = [
    ...closeSpeech(state, end.status === 'completed'),
    ...withdrawRequests(state),
    ...reportDiff(state),
    ...(end.status === 'completed' ? reportOvercome(state) : failOpenTools(state)),
  ]
  const outcome = settle(state, end, pending)
  state.outcome = outcome
  state.turn.failure = null
  state.turn.running = false
  forgetFinishedTools(state)
  return [...events, ...(outcome.isError ? [errorEvent(state, outcome)] : completeEvents(state, outcome))]
}

function settle(state: CodexState, end: TurnEnd, pending: PendingFailure | null): CodexOutcome {
  const common = {
    usage: state.meter.used,
    durationMs: end.durationMs,
    nativeSessionId: state.threadId,
  }
  if (end.status === 'completed') {
    const finalText = state.turn.answer ?? state.turn.plan ?? ''
    const structuredOutput = state.expectsJson ? parsed(finalText) : undefined
    const { forkPoint } = end
    return present({ ...common, reason: 'completed', isError: false, finalText, structuredOutput, forkPoint })
  }
  const failure = end.failure ?? (end.status === 'failed' ? pending : null)
  const { code, error, apiStatus } = failure ? describeCodexFailure(failure) : DEFAULTS[end.status]
  const errorCode = end.status === 'interrupted' && code === 'unknown' ? 'interrupted' : code
  const reason = end.status === 'interrupted' ? 'interrupted' : reasonOf(errorCode)
  return present({ ...common, reason, isError: true, errorCode, error, apiStatus })
}

const DEFAULTS = {
  failed: describeCodexFailure({ message: '' }),
  interrupted: { code: 'interrupted', error: 'Interrupted by the user', apiStatus: undefined },
} as const

function reasonOf(code: SessionErrorCode): TurnEndReason {
  return code === 'budget_exceeded' ? 'budget' : 'failed'
}

function completeEvents(state: CodexState, outcome: CodexOutcome): UIEvent[] {
  const { sessionId } = state
  const { finalText = '', structuredOutput, usage, durationMs, forkPoint } = outcome
  return [
    present({ type: 'chat:complete', sessionId, text: finalText, structuredOutput }),
    present({ type: 'session:complete', sessionId, usage, durationMs, forkPoint }),
  ]
}

function errorEvent(state: CodexState, outcome: CodexOutcome): UIEvent {
  const { sessionId } = state
  const { error = '', errorCode = 'unknown', apiStatus, usage } = outcome
  return present({ type: 'session:error', sessionId, error, code: errorCode, apiStatus, usage })
}

/** The diff of the whole turn is sent after every step; only the last one is reported. */
function reportDiff(state: CodexState): UIEvent[] {
  const { diff } = state.turn
  if (diff === '') return []
  state.turn.diff = ''
  const files = diff.match(/^diff --git /gm)?.length ?? 1
  const message = `Changed ${files} ${files === 1 ? 'file' : 'files'} in this turn`
  return codexNotice(state, 'turn_diff', { message, data: { diff } })
}

/** The parsed answer of a requested schema; undefined if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
