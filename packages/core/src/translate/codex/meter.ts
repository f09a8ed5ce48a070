import { asNumber, asObject } from '../../native/loose.ts'
import type { UsageInfo } from '../../ui-event.ts'
import { subtractUsage } from '../claude/usage.ts'

/** Turns the running totals of a thread into what each turn used. */
export interface Meter {
  startTurn(): void
  /** The thread's new total. False if that is no news. */
  read(total: UsageInfo, last?: UsageInfo): boolean
  /** What the turn has used so far. */
  used(): UsageInfo
  /** Of the thread, as far as it is known. */
  readonly total: UsageInfo
}

export function createMeter(usageBefore: UsageInfo | undefined): Meter {
  let before = usageBefore
  let total = usageBefore
  return {
    startTurn: () => {
      before = total
    },
    read: (counted, last) => {
      // A review states no tokens at all, which is not the same as none.
      if (sum(counted) === 0) return false
      // The first count in a thread that was resumed without a word of its past: only its last answer is new.
      before ??= last ? subtractUsage(counted, last) : NOTHING
      const news = total === undefined || sum(counted) !== sum(total)
      total = counted
      return news
    },
    used: () => {
      if (total === undefined) return NOTHING
      const start = before ?? NOTHING
      // A smaller total is another thread's, or one that began again.
      return sum(total) < sum(start) ? total : subtractUsage(total, start)
    },
    get total() {
      return total ?? NOTHING
    },
  }
}

/** Codex counts cached tokens as input as well; here every token is counted once. */
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
  return Math.max(0, asNumber(value) ?? 0)
}

const NOTHING: UsageInfo = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
}

function sum(usage: UsageInfo): number {
  return (
    usage.input_tokens +
    usage.output_tokens +
    (usage.cache_read_input_tokens ?? 0) +
    (usage.cache_creation_input_tokens ?? 0)
  )
}
