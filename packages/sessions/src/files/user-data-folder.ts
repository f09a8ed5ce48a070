import { homedir } from 'node:os'
import { join } from 'node:path'
import { processEnv } from '@chirality/runner'

/** The folder for data that belongs to no project. `CHIRALITY_HOME` overrides it. */
export function userDataFolder(env: Record<string, string> = processEnv()): string {
  if (env.CHIRALITY_HOME) return env.CHIRALITY_HOME
  const home = env.HOME || homedir()
  if (process.platform === 'darwin') return join(home, 'Library/Application Support/chirality')
  return join(env.XDG_DATA_HOME || join(home, '.local/share'), 'chirality')
}
