import type { HarnessErrorCode, HarnessEvent, SessionErrorCode, UsageInfo } from '@chirality/core'

/** What a translator says of a turn's result. */
export interface QueryOutcome {
  isError: boolean
  error?: string
  errorCode?: SessionErrorCode
  usage: UsageInfo
  costUsd?: number
  durationMs?: number
}

/** The last event of a query that came to a result. */
export function queryEnd(outcome: QueryOutcome): HarnessEvent<never> {
  const { isError, error = 'The turn failed.', errorCode, usage, costUsd, durationMs } = outcome
  if (isError) return { type: 'error', error, code: harnessCode(errorCode) }
  return {
    type: 'complete',
    usage: {
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
      cacheReadTokens: usage.cache_read_input_tokens,
      cacheWriteTokens: usage.cache_creation_input_tokens,
      ...(costUsd === undefined ? {} : { costUsd }),
      ...(durationMs === undefined ? {} : { durationMs }),
    },
  }
}

function harnessCode(code: SessionErrorCode | undefined): HarnessErrorCode {
  switch (code) {
    case 'auth_failed':
    case 'rate_limited':
    case 'overloaded':
    case 'context_overflow':
    case 'session_not_found':
    case 'max_turns':
    case 'budget_exceeded':
      return code
    case 'interrupted':
      return 'aborted'
    default:
      return 'unknown'
  }
}
