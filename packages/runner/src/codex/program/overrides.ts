import { HarnessError } from '@chirality/core'
import type { CodexContext } from '../config.ts'
import { HARNESS_ID } from '../descriptor.ts'

/**
 * Configuration for one process, as `-c` arguments; nothing is written to the user's config. Later ones win: first
 * ours, then those of the app, then the user's from CHIRALITY_CODEX_CONFIG.
 */
export function overrideArgs(context: CodexContext, extra: string[] = []): string[] {
  const overrides = [...OURS, ...extra, ...(context.config.configOverrides ?? []), ...userOverrides(context)]
  return overrides.flatMap(override => ['-c', override])
}

const OURS = [
  // Commands of the agent must not see our key: Codex passes them its whole environment otherwise.
  'shell_environment_policy.ignore_default_excludes=false',
  // A network that is down would be waited for without end.
  'features.unbounded_connection_retries=false',
  // Without it no reasoning is ever shown.
  'model_reasoning_summary="auto"',
  // The plan that a person can follow.
  'tools.update_plan.enabled=true',
]

function userOverrides({ environment }: CodexContext): string[] {
  const text = environment.CHIRALITY_CODEX_CONFIG
  if (!text) return []
  const list = parseList(text)
  if (list) return list
  throw new HarnessError(
    'CHIRALITY_CODEX_CONFIG must be a JSON array of "key=value" strings, such as ["model=\\"gpt-5.5\\""].',
    'invalid_query',
    HARNESS_ID,
  )
}

function parseList(text: string): string[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isList =
      Array.isArray(value) && value.every(entry => typeof entry === 'string' && entry.includes('='))
    return isList ? value : undefined
  } catch {
    return undefined
  }
}
