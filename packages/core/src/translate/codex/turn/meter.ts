import type { UsageInfo } from '../../../events/ui-event.ts'
import { allTokens } from '../../../money/cost.ts'
import { asNumber, asObject } from '../../../native/loose.ts'

/** Computes the tokens of each turn from the running totals of a thread. */
export interface Meter {
  startTurn(): void
  /** Takes the thread's new total and the tokens of its last answer. False if nothing changed. */
  read(total: UsageInfo, last?: UsageInfo): boolean
  /** The thread restarts its count at zero. */
  reset(): void
  readonly used: UsageInfo
  /** The known total of the thread. */
  readonly total: UsageInfo
}

export function createMeter(usageBefore: UsageInfo | undefined): Meter {
  let total = usageBefore
  let used = NOTHING
  return {
    startTurn: () => {
      used = NOTHING
    },
    read: (counted, last) => {
      const since = newUsage(counted, total, last)
      used = combine(used, since, 1)
      total = counted
      return allTokens(since) > 0
    },
    reset: () => {
      total = NOTHING
    },
    get used() {
      return used
    },
    get total() {
      return total ?? NOTHING
    },
  }
}

function newUsage(counted: UsageInfo, before: UsageInfo | undefined, last: UsageInfo | undefined): UsageInfo {
  // The first count of a resumed thread whose earlier total is unknown: only its last answer is new.
  if (before === undefined) return last ?? counted
  // A smaller total belongs to another thread, or to one that restarted its count.
  return allTokens(counted) < allTokens(before) ? counted : combine(counted, before, -1)
}

/** Codex includes cached tokens in the input; here every token is counted once. */
export function readCounts(value: unknown): UsageInfo {
  const counts = asObject(value) ?? {}
  const cached = count(counts.cached_input_tokens ?? counts.cachedInputTokens)
  const written = count(counts.cache_write_input_tokens ?? counts.cacheWriteInputTokens)
  return {
    input_tokens: Math.max(0, count(counts.input_tokens ?? counts.inputTokens) - cached - written),
    output_tokens: count(counts.output_tokens ?? counts.outputTokens),
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
  }
}

function count(value: unknown): number {
  return Math.min(Math.max(0, asNumber(value) ?? 0), Number.MAX_SAFE_INTEGER)
}

const NOTHING: UsageInfo = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
}

/** `a + b` or `a - b`, and never below zero. */
function combine(a: UsageInfo, b: UsageInfo, sign: 1 | -1): UsageInfo {
  return {
    input_tokens: Math.max(0, a.input_tokens + sign * b.input_tokens),
    output_tokens: Math.max(0, a.output_tokens + sign * b.output_tokens),
    cache_read_input_tokens: Math.max(
      0,
      (a.cache_read_input_tokens ?? 0) + sign * (b.cache_read_input_tokens ?? 0),
    ),
    cache_creation_input_tokens: Math.max(
      0,
      (a.cache_creation_input_tokens ?? 0) + sign * (b.cache_creation_input_tokens ?? 0),
    ),
  }
}
