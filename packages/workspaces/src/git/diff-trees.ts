import type { Changes, FileChange } from './changes.ts'
import { type GitRepository, git } from './git.ts'
import { snapshotEnvironment } from './snapshot.ts'

export interface TreePair {
  from: string
  to: string
  /** The folder of Chirality's own objects. */
  stateFolder: string
}

export async function diffTrees(repository: GitRepository, pair: TreePair): Promise<Changes> {
  const env = await snapshotEnvironment(repository, pair.stateFolder)
  const scope = [
    pair.from,
    pair.to,
    ...(repository.prefix === '' ? [] : [`--relative=${repository.prefix}/`]),
  ]
  const diff = (format: string[], maxBytes?: number) =>
    git(repository, ['diff', ...SAFE_DIFF, ...format, ...scope], {
      env,
      ...(maxBytes === undefined ? {} : { maxBytes }),
    })
  const files = mergeCounts(
    parseNames((await diff(['--name-status', '-z'])).toString('utf8')),
    parseCounts((await diff(['--numstat', '-z'])).toString('utf8')),
  )
  const patch = await diff(['--patch'], MAX_PATCH_BYTES).catch(() => undefined)
  return { files, patch: patch?.toString('utf8') ?? '', truncated: patch === undefined }
}

const MAX_PATCH_BYTES = 4 * 1024 * 1024

/** A file of a tree as git stores it, `path` from the root of the project. Undefined if the tree has no such file. */
export async function fileOfTree(
  repository: GitRepository,
  { tree, path, stateFolder }: { tree: string; path: string; stateFolder: string },
): Promise<{ sizeBytes: number; bytes: Buffer | null } | undefined> {
  const env = await snapshotEnvironment(repository, stateFolder)
  const name = repository.prefix === '' ? path : `${repository.prefix}/${path}`
  const listed = await git(repository, ['ls-tree', '-z', '--full-tree', '-l', tree, '--', name], { env })
  const [, id, size] = /^100\d{3} blob ([0-9a-f]+) +(\d+)\t/.exec(listed.toString('latin1')) ?? []
  if (id === undefined) return undefined
  const sizeBytes = Number(size)
  if (sizeBytes > MAX_FILE_BYTES) return { sizeBytes, bytes: null }
  return { sizeBytes, bytes: await git(repository, ['cat-file', 'blob', id], { env }) }
}

const MAX_FILE_BYTES = 5 * 1024 * 1024

export const SAFE_DIFF = [
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--find-renames',
  '--src-prefix=a/',
  '--dst-prefix=b/',
  '--ignore-submodules=all',
]

function parseNames(text: string): FileChange[] {
  const words = text.split('\0')
  const files: FileChange[] = []
  for (let i = 0; i + 1 < words.length; ) {
    const status = words[i]?.[0] ?? ''
    const first = words[i + 1] ?? ''
    if (status === 'R' || status === 'C') {
      files.push({
        ...uncounted(words[i + 2] ?? '', status === 'R' ? 'renamed' : 'added'),
        renamedFrom: first,
      })
      i += 3
    } else {
      files.push(uncounted(first, KINDS[status] ?? 'changed'))
      i += 2
    }
  }
  return files
}

const KINDS: Readonly<Record<string, FileChange['kind']>> = { A: 'added', D: 'deleted' }

function uncounted(path: string, kind: FileChange['kind']): FileChange {
  return { path, kind, added: null, removed: null }
}

/** By the new name. */
function parseCounts(text: string): Map<string, [added: number | null, removed: number | null]> {
  const counts = new Map<string, [number | null, number | null]>()
  const words = text.split('\0')
  for (let i = 0; i < words.length; i += 1) {
    const [added, removed, path] = words[i]?.split('\t') ?? []
    if (added === undefined || removed === undefined || path === undefined) continue
    // After a rename both names follow as separate fields.
    const name = path === '' ? words[i + 2] : path
    if (path === '') i += 2
    if (name !== undefined) counts.set(name, [toCount(added), toCount(removed)])
  }
  return counts
}

function toCount(text: string): number | null {
  return text === '-' ? null : Number(text)
}

function mergeCounts(
  files: FileChange[],
  counts: Map<string, [added: number | null, removed: number | null]>,
): FileChange[] {
  return files.map(file => {
    const [added, removed] = counts.get(file.path) ?? [null, null]
    return { ...file, added, removed }
  })
}
