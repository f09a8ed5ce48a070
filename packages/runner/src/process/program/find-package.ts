import { existsSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

/**
 * The real folder of an installed package, seen from a file. By hand, because the agents' packages hide their
 * package.json behind `exports`; the real path, because a linked package's own dependencies lie beside it.
 */
export function findPackage(from: string, name: string): string | undefined {
  const bases = createRequire(from).resolve.paths(name) ?? []
  const folder = bases.map(base => path.join(base, name)).find(candidate => existsSync(candidate))
  return folder && realpathSync(folder)
}
