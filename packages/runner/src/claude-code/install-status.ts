import type { HarnessInstallStatus } from '@chirality/core'
import { HarnessNotInstalledError, versionSupport } from '@chirality/core'
import { buildChildEnv } from '../env/child-env.ts'
import { asTyped } from '../process/as-typed.ts'
import { runCommand } from '../process/run-command.ts'
import { telemetryEnv } from './args.ts'
import { CLAUDE_VERSIONS, type ClaudeContext } from './config.ts'
import { claudeVersion, findClaude } from './executable.ts'

/** Asks the binary for its version and whether it has a credential. Neither needs the network or a token. */
export async function claudeInstallStatus({
  config,
  environment,
}: ClaudeContext): Promise<HarnessInstallStatus> {
  let binary: string
  try {
    binary = await findClaude({ binaryPath: config.binaryPath, environment })
  } catch (error) {
    if (!(error instanceof HarnessNotInstalledError)) throw error
    return notInstalled(error.instructions)
  }
  const { env } = buildChildEnv({
    source: environment,
    credentials: 'claude',
    allow: config.allowEnvironment,
    extra: telemetryEnv(config),
  })
  const version = await claudeVersion(binary, env)
  if (version === undefined) {
    const instructions = `${binary} does not answer --version as Claude Code does. Is it the right binary?`
    return { ...notInstalled(instructions), path: binary }
  }
  // Only now: another program could take these words for anything.
  const auth = await runCommand(binary, ['auth', 'status', '--json'], { env })
  const { loggedIn, authMethod } = parseAuth(auth.stdout)
  return {
    installed: true,
    version,
    support: versionSupport(version, CLAUDE_VERSIONS),
    path: binary,
    authType: loggedIn ? (authMethod.includes('key') ? 'api-key' : 'account') : 'none',
    authenticated: loggedIn,
    ...(loggedIn ? {} : { authInstructions: await loginInstructions(binary, environment) }),
  }
}

async function loginInstructions(binary: string, { PATH }: Record<string, string>): Promise<string> {
  return `Run \`${await asTyped('claude', binary, PATH)} auth login\`, or set ANTHROPIC_API_KEY.`
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
