import type { UIEvent } from '../../../events/ui-event.ts'
import { status } from '../../shared.ts'
import { breakSpeech } from '../speech.ts'
import type { CodexState, PendingFailure } from '../state.ts'
import { codexNotice } from '../ui.ts'
import { statusInText, textOf } from './failure.ts'

/**
 * An error during a turn. Only the end of the turn decides whether it was fatal: until then it is held, and reported as
 * overcome if the turn continues.
 */
export function translateError(
  state: CodexState,
  failure: PendingFailure,
  willRetry: boolean | undefined,
): UIEvent[] {
  if (willRetry ?? failure.message.startsWith(RECONNECTING)) return retrying(state, failure)
  const earlier = reportOvercome(state)
  if (!state.turn.running) return [...earlier, ...report(state, failure)]
  state.turn.failure = failure
  return earlier
}

/** Reports an error that did not end the turn. */
export function reportOvercome(state: CodexState): UIEvent[] {
  const { failure } = state.turn
  state.turn.failure = null
  return failure ? report(state, failure) : []
}

const RECONNECTING = 'Reconnecting'

/** `Reconnecting... 2/5 (why)` or `Reconnecting... waiting for network (why)`. */
function retrying(state: CodexState, failure: PendingFailure): UIEvent[] {
  breakSpeech(state)
  const text = textOf(failure)
  // While the network is down the same text is repeated every few seconds, for hours.
  if (text === state.turn.lastRetry) return []
  state.turn.lastRetry = text
  const bracket = text.indexOf(' (')
  const head = bracket < 0 ? text : text.slice(0, bracket)
  const why = bracket < 0 ? undefined : text.slice(bracket + 2, text.endsWith(')') ? -1 : undefined)
  const [, attempt, maxRetries] = /^\D*(\d{1,6})\/(\d{1,6})$/.exec(head) ?? []
  const what = attempt ? `retry ${attempt} of ${maxRetries}` : head.replace(/^Reconnecting[. ]*/, '')
  return [
    status(state, 'retrying', {
      message: why && what ? `${why}, ${what}` : text,
      level: 'warn',
      data: {
        attempt: attempt === undefined ? undefined : Number(attempt),
        maxRetries: maxRetries === undefined ? undefined : Number(maxRetries),
        apiStatus: statusInText(text),
        error: why,
      },
    }),
  ]
}

function report(state: CodexState, failure: PendingFailure): UIEvent[] {
  return codexNotice(state, 'error', { message: textOf(failure), level: 'error' })
}
