import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The built dashboard: of the repository, or the copy in the packed command. Undefined if it is not built. Only these
 * two are checked: an installed command is inside a user's project, which may have a `web/dist` of its own.
 */
export function dashboardFolder(from = fileURLToPath(import.meta.url)): string | undefined {
  const own = packageFolder(from, '@chirality/cli')
  if (own === undefined) return undefined
  const candidates = [path.join(own, 'dashboard')]
  const beside = path.join(own, '..', 'web')
  if (nameOf(beside) === '@chirality/web') candidates.unshift(path.join(beside, 'dist'))
  return candidates.find(folder => existsSync(path.join(folder, 'index.html')))
}

/** The package of a file, which may be a source, the bundle or one of its chunks. */
function packageFolder(file: string, name: string): string | undefined {
  const folder = path.dirname(file)
  if (folder === file) return undefined
  return nameOf(folder) === name ? folder : packageFolder(folder, name)
}

function nameOf(folder: string): string | undefined {
  try {
    return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')).name
  } catch {
    return undefined
  }
}
