import { createHash } from 'node:crypto'
import type { HarnessQuery } from '@chirality/core'
import { buildChildEnv } from '../../env/child-env.ts'
import { refuseTooOld } from '../../turn/agent-version.ts'
import type { AgentLaunch } from '../../turn/kept-agents.ts'
import { checkDirectory } from '../../turn/start-failure.ts'
import { AppServer } from '../app-server/app-server.ts'
import { type CodexFeatures, codexFeatures } from '../app-server/features.ts'
import { CODEX, type CodexContext } from '../config.ts'
import { CODEX_ENVIRONMENT, CODEX_ID, CODEX_VERSIONS } from '../descriptor.ts'
import { findCodex } from './executable.ts'
import { overrideArgs } from './overrides.ts'
import { codexOwnGit } from './own-git.ts'

/** Everything that starts a Codex process, without its arguments. */
export interface CodexProgram {
  command: string
  env: Record<string, string>
  features: CodexFeatures
  /** For `overrideArgs`: what the environment needs. */
  overrides: string[]
}

export async function codexProgram(query: HarnessQuery, context: CodexContext): Promise<CodexProgram> {
  await checkDirectory('The project folder', query.cwd, CODEX_ID)
  for (const directory of query.additionalDirectories ?? [])
    await checkDirectory('The extra folder', directory, CODEX_ID)
  const command = await findCodex({ binaryPath: context.config.binaryPath, environment: context.environment })
  const { env } = buildChildEnv({
    source: context.environment,
    own: CODEX_ENVIRONMENT,
    allow: context.config.allowEnvironment,
    extra: query.env,
  })
  const features = await codexFeatures(command, env, {
    signal: query.signal,
    dataFolder: context.config.dataFolder,
  })
  refuseTooOld(features.version, CODEX_VERSIONS, CODEX)
  const git = await codexOwnGit(query, env)
  return { command, env: { ...env, ...git.env }, features, overrides: git.overrides }
}

/**
 * `distinct` separates sessions that cannot share a process, because their tools belong to it. Projects never share
 * one: messages of one would be in the raw log of another.
 */
export function appServerLaunch(
  program: CodexProgram,
  context: CodexContext,
  { projectRoot, distinct }: { projectRoot: string; distinct: string },
): AgentLaunch<AppServer> {
  const { command, env, features, overrides } = program
  const extra = [...overrides, UNLOAD_AT_ONCE, ...(env.CODEX_API_KEY ? [LOGIN_IN_MEMORY] : [])]
  const args = ['app-server', ...overrideArgs(context, extra)]
  const key = createHash('sha256')
    .update(JSON.stringify([command, args, env, projectRoot, distinct]))
    .digest('hex')
  const options = { command, args, env, features, projectRoot, config: context.config }
  return {
    key,
    isShared: true,
    isShortLived: distinct !== '',
    start: signal => AppServer.start(options, signal),
  }
}

/** A session that needs another process cannot load its thread there until this process has unloaded it. */
const UNLOAD_AT_ONCE = 'thread_unload_delay_secs=0'

/** A key from the environment must not replace the user's stored login. */
const LOGIN_IN_MEMORY = 'cli_auth_credentials_store="ephemeral"'
