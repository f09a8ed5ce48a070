import type { UsageInfo } from '@chirality/core'

/** Together, field by field; a field that neither has is left out. */
export function addUsage(a: UsageInfo, b: UsageInfo): UsageInfo {
  const total: UsageInfo = {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
  }
  for (const field of ['cache_read_input_tokens', 'cache_creation_input_tokens'] as const) {
    if (a[field] !== undefined || b[field] !== undefined) total[field] = (a[field] ?? 0) + (b[field] ?? 0)
  }
  return total
}
