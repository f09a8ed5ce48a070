import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { findRepository, git, HIDDEN_FOLDERS } from '@chirality/workspaces'

/** Paths of a project that contain the letters of `query` in this order, best first. Names count more than folders. */
export async function findFiles(root: string, query: string, limit: number): Promise<string[]> {
  const wanted = query.toLowerCase()
  return (await listFiles(root))
    .flatMap(file => {
      const cost = costOf(file.toLowerCase(), wanted)
      return cost === undefined ? [] : [{ file, cost }]
    })
    .sort((a, b) => a.cost - b.cost || a.file.length - b.file.length || (a.file < b.file ? -1 : 1))
    .slice(0, limit)
    .map(({ file }) => file)
}

/** The files that git tracks or would track; without git, those of a directory walk. */
export async function listFiles(root: string): Promise<string[]> {
  const repository = await findRepository(root)
  if (repository === undefined) return walk(root)
  const what = ['--cached', '--others', '--exclude-standard', '--deduplicate', '-z']
  const output = await git(repository, ['ls-files', ...what, '--', repository.prefix || '.'], {
    maxBytes: MAX_LISTED_BYTES,
  })
  const prefix = repository.prefix === '' ? '' : `${repository.prefix}/`
  return output
    .toString('utf8')
    .split('\0')
    .filter(file => file.startsWith(prefix) && file !== prefix)
    .map(file => file.slice(prefix.length))
    .filter(file => !HIDDEN_FOLDERS.has(file.split('/')[0]?.toLowerCase() ?? ''))
    .slice(0, MAX_FILES)
}

/** Links are not followed, so the walk stays in the project and ends. */
async function walk(root: string): Promise<string[]> {
  const found: string[] = []
  const folders = ['']
  for (const folder of folders) {
    if (found.length >= MAX_FILES || folders.length > MAX_FOLDERS) break
    const entries = await readdir(path.join(root, folder), { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const file = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isFile()) found.push(file)
      else if (entry.isDirectory() && !isLeftOut(entry.name)) folders.push(file)
    }
  }
  return found.slice(0, MAX_FILES)
}

function isLeftOut(folder: string): boolean {
  return folder.startsWith('.') || folder === 'node_modules'
}

const MAX_FILES = 50_000
/** The limit: in a project with more than a million files, only the first are found. */
const MAX_LISTED_BYTES = 64 * 1024 * 1024
const MAX_FOLDERS = 5_000

/** 0 for a name that begins with it; undefined for a path that does not match. */
function costOf(file: string, wanted: string): number | undefined {
  const name = file.slice(file.lastIndexOf('/') + 1)
  if (name.startsWith(wanted)) return 0
  if (name.includes(wanted)) return 1
  if (file.includes(wanted)) return 2
  let at = -1
  for (const letter of wanted) {
    at = file.indexOf(letter, at + 1)
    if (at < 0) return undefined
  }
  return 3
}
