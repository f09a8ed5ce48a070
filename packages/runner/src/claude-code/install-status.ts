import type { HarnessInstallStatus } from '@chirality/core'
import { HarnessNotInstalledError } from '@chirality/core'
import { buildChildEnv } from '../env/child-env.ts'
import { runCommand } from '../process/run-command.ts'
import { claudeVersion, type FindClaudeOptions, findClaude } from './executable.ts'

export const LOGIN_INSTRUCTIONS = 'Run `claude` once and type /login, or set ANTHROPIC_API_KEY.'

/** Asks the binary for its version and whether it has a credential. Neither needs the network or a token. */
export async function claudeInstallStatus(options: FindClaudeOptions): Promise<HarnessInstallStatus> {
  let binary: string
  try {
    binary = await findClaude(options)
  } catch (error) {
    if (!(error instanceof HarnessNotInstalledError)) throw error
    return { installed: false, authType: 'none', authenticated: false, authInstructions: error.instructions }
  }
  const { env } = buildChildEnv({ source: options.environment, credentials: 'claude' })
  const [version, auth] = await Promise.all([
    claudeVersion(binary, env),
    runCommand(binary, ['auth', 'status', '--json'], { env }),
  ])
  if (version === undefined) {
    return {
      installed: false,
      path: binary,
      authType: 'none',
      authenticated: false,
      authInstructions: `${binary} does not answer --version as Claude Code does. Is it the right binary?`,
    }
  }
  const { loggedIn, authMethod } = parseAuth(auth.stdout)
  return {
    installed: true,
    version,
    path: binary,
    authType: loggedIn ? (authMethod.includes('key') ? 'api-key' : 'account') : 'none',
    authenticated: loggedIn,
    ...(loggedIn ? {} : { authInstructions: LOGIN_INSTRUCTIONS }),
  }
}

function parseAuth(stdout: string): { loggedIn: boolean; authMethod: string } {
  try {
    const answer = JSON.parse(stdout) as { loggedIn?: unknown; authMethod?: unknown }
    return { loggedIn: answer.loggedIn === true, authMethod: String(answer.authMethod ?? '') }
  } catch {
    return { loggedIn: false, authMethod: '' }
  }
}
