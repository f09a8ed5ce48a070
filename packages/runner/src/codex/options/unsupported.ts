import { HarnessError, type HarnessQuery } from '@chirality/core'
import { HARNESS_ID } from '../config.ts'

/** What Codex has no word for is refused, never dropped: a limit that does not hold is worse than none. */
export function refuseUnsupported(query: HarnessQuery): void {
  const refused = Object.entries(REFUSALS).find(([field]) => isSet(query[field as keyof HarnessQuery]))
  if (refused) throw new HarnessError(`${refused[0]}: ${refused[1]}`, 'unsupported', HARNESS_ID)
}

const NO_NAMED_TOOLS =
  'Codex has no tools that could be allowed or denied by name. Use a permission mode instead.'

const REFUSALS: Partial<Record<keyof HarnessQuery, string>> = {
  tools: NO_NAMED_TOOLS,
  allowedTools: NO_NAMED_TOOLS,
  disallowedTools: NO_NAMED_TOOLS,
  maxTurns: 'Codex counts no rounds. Stop it by time instead.',
  maxBudgetUsd: 'Codex does not know what a turn costs.',
  fallbackModel: 'Codex has no fallback model.',
  continueLast: 'Name the thread with resumeSessionId.',
}

/** `default` is what every agent has anyway. */
function isSet(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  return value !== undefined && value !== null && value !== false && value !== 'default'
}
