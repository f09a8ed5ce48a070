import { existsSync } from 'node:fs'
import path from 'node:path'
import type { HarnessQuery } from '@chirality/core'
import { buildChildEnv } from '../../env/child-env.ts'
import { type ClaudeContext, PLAIN_VARIANT, settingSources, telemetryEnv } from '../config.ts'
import { CLAUDE_ENVIRONMENT } from '../descriptor.ts'
import { findClaude } from './executable.ts'
import { claudeFeatures } from './features.ts'

/**
 * Newer releases read AGENTS.md where they use the settings of the project and find no CLAUDE.md. A binary that cannot be
 * asked reads none: told twice is better than not at all.
 */
export async function readsAgentsFile(
  cwd: string,
  trust: Pick<HarnessQuery, 'trustProject'>,
  { config, environment, variant = PLAIN_VARIANT }: ClaudeContext,
): Promise<boolean> {
  if (!settingSources(trust, config).includes('project')) return false
  if (CLAUDE_FILES.some(file => existsSync(path.join(cwd, file)))) return false
  const extra = telemetryEnv(config)
  const { env } = buildChildEnv({
    source: environment,
    own: CLAUDE_ENVIRONMENT,
    allow: config.allowEnvironment,
    extra,
  })
  try {
    const command = await findClaude({ binaryPath: config.binaryPath, environment, agent: variant.agent })
    return (await claudeFeatures(command, env, { dataFolder: config.dataFolder })).readsAgentsFile
  } catch {
    return false
  }
}

const CLAUDE_FILES = ['CLAUDE.md', path.join('.claude', 'CLAUDE.md')]
