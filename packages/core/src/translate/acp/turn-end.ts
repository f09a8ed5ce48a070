import type { SessionErrorCode, TurnEndReason, UsageInfo } from '../../events/ui-event.ts'
import { asNumber, asObject, type JsonObject } from '../../native/loose.ts'

/** Tokens in the words of the protocol, or in those of Gemini. Undefined where there are none. */
export function usageOf(value: unknown): Required<UsageInfo> | undefined {
  const told = asObject(value)
  const input = asNumber(told?.inputTokens) ?? asNumber(told?.input_tokens)
  const output = asNumber(told?.outputTokens) ?? asNumber(told?.output_tokens)
  if (input === undefined && output === undefined) return undefined
  return {
    input_tokens: input ?? 0,
    output_tokens: output ?? 0,
    cache_read_input_tokens: asNumber(told?.cachedReadTokens) ?? 0,
    cache_creation_input_tokens: asNumber(told?.cachedWriteTokens) ?? 0,
  }
}

/** The sum of both. */
export function addUsage(one: UsageInfo | undefined, more: Required<UsageInfo>): Required<UsageInfo> {
  return {
    input_tokens: (one?.input_tokens ?? 0) + more.input_tokens,
    output_tokens: (one?.output_tokens ?? 0) + more.output_tokens,
    cache_read_input_tokens: (one?.cache_read_input_tokens ?? 0) + more.cache_read_input_tokens,
    cache_creation_input_tokens: (one?.cache_creation_input_tokens ?? 0) + more.cache_creation_input_tokens,
  }
}

export interface Spent {
  usage?: UsageInfo
  costUsd?: number
}

/** The tokens of a turn, and its cost: what the running total has grown by since `before`. */
export function spentIn(
  result: JsonObject,
  {
    tokens,
    total,
    before,
  }: { tokens: UsageInfo | undefined; total: number | undefined; before: number | 'unknown' | undefined },
): Spent {
  const quota = asObject(asObject(result._meta)?.quota)
  const usage = usageOf(result.usage) ?? usageOf(quota?.token_count) ?? tokens
  const told = usage ? { usage } : {}
  if (total === undefined || total === before || before === 'unknown') return told
  // A process that was started again counts from zero.
  return { ...told, costUsd: total < (before ?? 0) ? total : total - (before ?? 0) }
}

/** Ends of a turn that are no answer. */
export const LIMITS: Record<string, { reason: TurnEndReason; code: SessionErrorCode; error: string }> = {
  max_tokens: {
    reason: 'failed',
    code: 'context_overflow',
    error: 'The answer reached the limit of tokens. Send a message to go on.',
  },
  max_turn_requests: {
    reason: 'max_turns',
    code: 'max_turns',
    error: 'The agent reached its own limit of rounds. Send a message to go on.',
  },
  refusal: { reason: 'failed', code: 'refused', error: 'The model refused to go on.' },
}

/** The protocol has one code for a missing login and one for a conversation that does not exist. */
export function codeOf(code: unknown, said: string): SessionErrorCode {
  if (code === -32000) return 'auth_failed'
  if (code === -32002) return 'session_not_found'
  if (/\b401\b|authenticat|not logged in|invalid api key/i.test(said)) return 'auth_failed'
  if (/\b429\b|rate.?limit/i.test(said)) return 'rate_limited'
  if (/\b529\b|overloaded/i.test(said)) return 'overloaded'
  return 'api_error'
}
