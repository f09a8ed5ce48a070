import type { Dirent, Stats } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import path from 'node:path'
import { confine, HIDDEN_FOLDERS, toFileError } from '@chirality/workspaces'
import type { FolderEntry, FolderListing } from '../shapes/files.ts'

/** One level of a project's files; a tree requests the next level when it is opened. */
export async function listFolder(root: string, relative: string): Promise<FolderListing> {
  const folder = await confine(root, relative)
  const found = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw toFileError(error, relative)
  })
  const shown = found
    .filter(({ name }) => name.toLowerCase() !== '.git' && (folder !== root || !HIDDEN_FOLDERS.has(name)))
    .sort(byKindAndName)
  const from = path.relative(root, folder)
  const entries = await Promise.all(
    shown.slice(0, MAX_ENTRIES).map(async entry => {
      const stats = await lstat(path.join(folder, entry.name)).catch(() => undefined)
      return describe(entry, path.join(from, entry.name), stats)
    }),
  )
  return { path: slashes(from), entries, left: Math.max(0, shown.length - MAX_ENTRIES) }
}

const MAX_ENTRIES = 5000

function describe(entry: Dirent, relative: string, stats: Stats | undefined): FolderEntry {
  return {
    name: entry.name,
    path: slashes(relative),
    kind: kindOf(entry),
    sizeBytes: stats?.size ?? 0,
    modifiedAt: (stats?.mtime ?? new Date(0)).toISOString(),
  }
}

function kindOf(entry: Dirent): FolderEntry['kind'] {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'folder'
  return entry.isSymbolicLink() ? 'link' : 'other'
}

function byKindAndName(a: Dirent, b: Dirent): number {
  if (a.isDirectory() !== b.isDirectory()) return a.isDirectory() ? -1 : 1
  return BY_NAME.compare(a.name, b.name) || (a.name < b.name ? -1 : 1)
}

/** `file2` before `file10`, independent of the machine's locale. */
const BY_NAME = new Intl.Collator('en', { numeric: true })

function slashes(relative: string): string {
  return relative.split(path.sep).join('/')
}
