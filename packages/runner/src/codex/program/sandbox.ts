import { existsSync } from 'node:fs'
import path from 'node:path'
import type { CommandSandbox, PermissionMode } from '@chirality/core'
import { realOrGiven } from '../../common/real-path.ts'
import { isConfined } from '../options/permissions.ts'

/**
 * The sandbox of Codex's commands. On Linux it is bubblewrap: the system's, if there is one, else the one that Codex
 * brings. The system's gives a command a /dev and a /proc of its own, so that a project below /dev/shm is not there,
 * and neither is Codex's data folder, in which it keeps the program that starts the command.
 */
export function codexSandbox(
  cwd: string,
  mode: PermissionMode,
  environment: Readonly<Record<string, string>>,
): CommandSandbox | undefined {
  if (!isConfined(mode)) return undefined
  if (process.platform !== 'linux') return { name: 'Seatbelt' }
  const bubblewrap = systemBubblewrap(environment.PATH)
  if (bubblewrap === undefined) return { name: 'bubblewrap, which Codex brings' }
  const name = `bubblewrap, ${bubblewrap}`
  const data = environment.CODEX_HOME || path.join(environment.HOME ?? '', '.codex')
  const hidden = [cwd, data].map(realOrGiven).find(isHidden)
  if (hidden === undefined) return { name }
  const problem = `Commands of Codex run in ${name}, which hides ${hidden} from them: they fail. Move it out of ${hidden.split(path.sep, 2).join(path.sep)}.`
  return { name, problem }
}

function isHidden(folder: string): boolean {
  return ['/dev', '/proc'].some(root => folder === root || folder.startsWith(`${root}/`))
}

/** Only absolute entries, as in Codex: a project must not bring the program. */
function systemBubblewrap(searched = ''): string | undefined {
  const folders = searched.split(path.delimiter).filter(folder => path.isAbsolute(folder))
  return folders.map(folder => path.join(folder, 'bwrap')).find(file => existsSync(file))
}
