import { readdir, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import path from 'node:path'

/** A folder as a user types it: absolute, from `~`, or relative to the home folder. */
export function typedFolder(typed: string, home = homedir()): string {
  const text = typed.trim()
  if (text === '~') return home
  return path.resolve(home, text.startsWith('~/') ? text.slice(2) : text)
}

/** Completions of a typed folder, in the same form: `~/co` gives `~/code/`. */
export async function completeFolder(typed: string, home = homedir()): Promise<string[]> {
  const text = typed.trim() === '~' ? '~/' : typed.trim()
  const begun = text.slice(text.lastIndexOf('/') + 1)
  const parent = text.slice(0, text.length - begun.length)
  const folder = typedFolder(parent === '' ? home : parent, home)
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const names: string[] = []
  for (const entry of entries) {
    const { name } = entry
    // Hidden folders are listed only after a dot.
    if (!startsWith(name, begun) || (name.startsWith('.') && !begun.startsWith('.'))) continue
    if (entry.isDirectory() || (entry.isSymbolicLink() && (await isFolder(path.join(folder, name))))) {
      names.push(name)
    }
  }
  const order = new Intl.Collator('en', { numeric: true })
  return names
    .sort(order.compare)
    .slice(0, MAX_FOLDERS)
    .map(name => `${parent}${name}/`)
}

const MAX_FOLDERS = 50

/**
 * Git repositories near the home folder, the most recently used first, as a user would type them. Looks a few levels
 * deep, and into a limited number of folders: a home folder can be a network disk.
 */
export async function findRepositories(
  known: ReadonlySet<string>,
  home = homedir(),
  limits = { depth: 3, folders: 1500 },
): Promise<string[]> {
  const found: { root: string; usedAt: number }[] = []
  let level = [home]
  let looked = 0
  for (let depth = 0; depth <= limits.depth && level.length > 0; depth += 1) {
    const next: string[] = []
    for (const folder of level) {
      looked += 1
      if (looked > limits.folders) break
      const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
      const isRepository = folder !== home && entries.some(({ name }) => name === '.git')
      if (isRepository && !known.has(folder)) found.push({ root: folder, usedAt: await usedAt(folder) })
      // What lies in a repository belongs to it.
      if (isRepository) continue
      for (const entry of entries) {
        const isPlace = entry.isDirectory() && !entry.name.startsWith('.') && !NO_PROJECTS.has(entry.name)
        if (isPlace) next.push(path.join(folder, entry.name))
      }
    }
    level = next
  }
  return found
    .sort((a, b) => b.usedAt - a.usedAt)
    .slice(0, MAX_REPOSITORIES)
    .map(({ root }) => `~/${path.relative(home, root)}`)
}

const MAX_REPOSITORIES = 20
const NO_PROJECTS: ReadonlySet<string> = new Set(['node_modules', 'Library', 'snap'])

/** The index is written by a commit, a checkout and a `git add`. */
async function usedAt(root: string): Promise<number> {
  const files = ['index', 'HEAD'].map(name => stat(path.join(root, '.git', name)).catch(() => undefined))
  return Math.max(0, ...(await Promise.all(files)).map(file => file?.mtimeMs ?? 0))
}

function startsWith(name: string, begun: string): boolean {
  return name.toLowerCase().startsWith(begun.toLowerCase())
}

async function isFolder(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined))?.isDirectory() ?? false
}
