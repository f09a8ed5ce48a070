import { HarnessError } from '@chirality/core'
import type { CodexContext } from '../config.ts'
import { CODEX_ID } from '../descriptor.ts'

/**
 * Configuration for one process, as `-c` arguments; the user's config is not changed. Later ones win: first the
 * harness's own, then the app's, then the user's from CHIRALITY_CODEX_CONFIG.
 */
export function overrideArgs(context: CodexContext, extra: string[] = []): string[] {
  const overrides = [...OURS, ...extra, ...(context.config.configOverrides ?? []), ...userOverrides(context)]
  return overrides.flatMap(override => ['-c', override])
}

const OURS = [
  // The agent's commands must not see the key: by default Codex passes its whole environment to them.
  'shell_environment_policy.ignore_default_excludes=false',
  // Without a limit Codex would retry forever if the network is down.
  'features.unbounded_connection_retries=false',
  // Without it Codex never shows any reasoning.
  'model_reasoning_summary="auto"',
  // Makes the agent keep a plan that the user can follow.
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
    CODEX_ID,
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
