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

function startsWith(name: string, begun: string): boolean {
  return name.toLowerCase().startsWith(begun.toLowerCase())
}

async function isFolder(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined))?.isDirectory() ?? false
}
