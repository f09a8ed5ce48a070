import type { HarnessQuery } from '@chirality/core'

/** Codex does not check the value it is given, so only known ones may leave here. */
export const CODEX_EFFORT: Record<NonNullable<HarnessQuery['thinking']>, string> = {
  low: 'low',
  med: 'medium',
  high: 'xhigh',
}
