import { access } from 'node:fs/promises'
import path from 'node:path'
import { type HarnessInstallStatus, HarnessNotInstalledError, versionSupport } from '@chirality/core'
import { buildChildEnv } from '../../env/child-env.ts'
import { asTyped } from '../../process/program/resolve-executable.ts'
import { runHelper } from '../../process/program/run-helper.ts'
import { type ClaudeContext, PLAIN_VARIANT, telemetryEnv } from '../config.ts'
import { CLAUDE_ENVIRONMENT, CLAUDE_VERSIONS } from '../descriptor.ts'
import { findClaude } from './executable.ts'
import { claudeFeatures } from './features.ts'

/** Asks the binary for its version and whether it has a credential. Neither needs the network or a token. */
export async function claudeInstallStatus(
  { config, environment, variant = PLAIN_VARIANT }: ClaudeContext,
  signal: AbortSignal,
): Promise<HarnessInstallStatus> {
  let binary: string
  try {
    binary = await findClaude({ binaryPath: config.binaryPath, environment, agent: variant.agent })
  } catch (error) {
    if (!(error instanceof HarnessNotInstalledError)) throw error
    return notInstalled(error.instructions)
  }
  const { env } = buildChildEnv({
    source: environment,
    own: CLAUDE_ENVIRONMENT,
    allow: config.allowEnvironment,
    extra: telemetryEnv(config),
  })
  const features = await claudeFeatures(binary, env, { signal })
  const { version } = features
  if (version === undefined) {
    const instructions = `${binary} does not answer --version as Claude Code does. Is it the right binary?`
    return { ...notInstalled(instructions), path: binary }
  }
  // Run only after the version check: another program could interpret these arguments in any way.
  const { loggedIn, authMethod } = features.hasAuthCommand
    ? parseAuth((await runHelper(binary, ['auth', 'status', '--json'], { env, signal })).stdout)
    : await credentialIn(env)
  const login = features.hasAuthCommand ? 'auth login' : ''
  return {
    installed: true,
    version,
    support: versionSupport(version, CLAUDE_VERSIONS),
    path: binary,
    authType: loggedIn ? (authMethod.includes('key') ? 'api-key' : 'account') : 'none',
    authenticated: loggedIn,
    ...(loggedIn ? {} : { authInstructions: await loginInstructions(binary, environment, login) }),
  }
}

async function loginInstructions(
  binary: string,
  { PATH }: Record<string, string>,
  login: string,
): Promise<string> {
  const command = `${await asTyped('claude', binary, PATH)} ${login}`.trim()
  const then = login === '' ? ' and type /login' : ''
  return `Run \`${command}\`${then}, or set ANTHROPIC_API_KEY.`
}

/** For releases without `auth status`, up to 2.1.36: a variable, or the file that a login leaves. */
async function credentialIn(env: Record<string, string>): Promise<{ loggedIn: boolean; authMethod: string }> {
  if (env.ANTHROPIC_API_KEY || env.ANTHROPIC_AUTH_TOKEN) return { loggedIn: true, authMethod: 'api_key' }
  if (env.CLAUDE_CODE_OAUTH_TOKEN) return { loggedIn: true, authMethod: 'oauth_token' }
  const folder = env.CLAUDE_CONFIG_DIR || path.join(env.HOME ?? '', '.claude')
  const hasLogin = await access(path.join(folder, '.credentials.json')).then(
    () => true,
    () => false,
  )
  return { loggedIn: hasLogin, authMethod: 'account' }
}

function notInstalled(authInstructions: string | undefined): HarnessInstallStatus {
  return { installed: false, authType: 'none', authenticated: false, authInstructions }
}

function parseAuth(stdout: string): { loggedIn: boolean; authMethod: string } {
  try {
    const answer = JSON.parse(stdout) as { loggedIn?: unknown; authMethod?: unknown } | null
    return { loggedIn: answer?.loggedIn === true, authMethod: String(answer?.authMethod ?? '') }
  } catch {
    return { loggedIn: false, authMethod: '' }
  }
}
