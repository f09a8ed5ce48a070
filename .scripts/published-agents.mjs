// Releases of agents from the npm registry, installed once into a cache outside of the repository: CHIRALITY_CACHE, or
// ~/.cache/chirality.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { root, run, say } from './setup.mjs'

export const CACHE = process.env.CHIRALITY_CACHE ?? path.join(os.homedir(), '.cache', 'chirality')

/** The agents that only `npm run test:all` and the matrix use: name, package, version, and the program below node_modules. */
export const PUBLISHED = JSON.parse(
  readFileSync(path.join(root, 'fixtures', 'published-agents.json'), 'utf8'),
)

/** For `npm run test:all`. */
export async function installPublished() {
  for (const [name, { package: spec, version }] of Object.entries(PUBLISHED))
    await install(`${name}@${version}`, `${spec}@${version}`)
}

/** Installs `specs` in the folder of `name@version`, and returns the folder. */
export async function install(entry, ...specs) {
  const folder = path.join(CACHE, entry.replace('@', '-'))
  const marker = path.join(folder, '.installed')
  if (existsSync(marker)) return folder
  say(`Installing ${entry}`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(folder, 'package.json'), '{"private":true}\n')
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...specs]
  const code = await run('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  if (code !== 0) throw new Error(`${entry} could not be installed (npm ended with ${code}).`)
  writeFileSync(marker, '')
  return folder
}
