import { detectShellEnvironment, processEnv } from '@chirality/runner'

/**
 * What agents of the server are given their share of. A program that was started from a dock or by a service has a bare PATH, on
 * which there are no agents and no tools: then the user's login shell is asked.
 */
export async function serverEnvironment(
  own: Record<string, string> = processEnv(),
  detect: () => Promise<Record<string, string>> = detectShellEnvironment,
): Promise<Record<string, string>> {
  const isFromShell = own.TERM !== undefined || own.SHLVL !== undefined
  if (isFromShell) return own
  const shell = await detect()
  const folders = [own.PATH, shell.PATH].flatMap(path => path?.split(':') ?? [])
  return { ...shell, ...own, PATH: [...new Set(folders)].filter(Boolean).join(':') }
}
