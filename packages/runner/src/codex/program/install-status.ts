import { type HarnessInstallStatus, HarnessNotInstalledError, versionSupport } from '@chirality/core'
import { buildChildEnv } from '../../env/child-env.ts'
import { asTyped } from '../../process/program/resolve-executable.ts'
import { runCommand } from '../../process/program/run-command.ts'
import { codexFeatures } from '../app-server/features.ts'
import { CODEX_ENVIRONMENT, CODEX_META } from '../descriptor.ts'
import { type FindCodexOptions, findCodex } from './executable.ts'

/** Asks the binary for its version and its login. The login says that a key exists, not that it is valid. */
export async function codexInstallStatus(options: FindCodexOptions): Promise<HarnessInstallStatus> {
  let binary: string
  try {
    binary = await findCodex(options)
  } catch (error) {
    if (!(error instanceof HarnessNotInstalledError)) throw error
    return { installed: false, authType: 'none', authenticated: false, authInstructions: error.instructions }
  }
  const { env } = buildChildEnv({ source: options.environment, own: CODEX_ENVIRONMENT })
  const { version: number } = await codexFeatures(binary, env)
  if (number === undefined) {
    const authInstructions = `${binary} does not answer --version as Codex does. Is it the right binary?`
    return { installed: false, path: binary, authType: 'none', authenticated: false, authInstructions }
  }
  // Run only after the version check: another program could interpret these arguments in any way.
  const login = await runCommand(binary, ['login', 'status'], { env })
  // `exec` reads the key from this variable, and an app-server gets it from us; `login status` ignores it.
  const authType = env.CODEX_API_KEY ? 'api-key' : authTypeOf(login.code, `${login.stdout}${login.stderr}`)
  const authenticated = authType !== 'none'
  return {
    installed: true,
    version: number,
    support: versionSupport(number, CODEX_META.versions),
    path: binary,
    authType,
    authenticated,
    ...(authenticated ? {} : { authInstructions: await loginInstructions(binary, options.environment) }),
  }
}

async function loginInstructions(binary: string, { PATH }: Record<string, string>): Promise<string> {
  return `Run \`${await asTyped('codex', binary, PATH)} login\`, or set CODEX_API_KEY.`
}

function authTypeOf(code: number | null, said: string): HarnessInstallStatus['authType'] {
  if (code !== 0) return 'none'
  return /api key/i.test(said) ? 'api-key' : 'account'
}
