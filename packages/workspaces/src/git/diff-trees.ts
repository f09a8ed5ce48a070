import { hasCode } from '@chirality/core'
import { workspaceError } from '../workspace-error.ts'
import type { Changes, FileChange, MovedSubmodule } from './changes.ts'
import { type GitOptions, type GitRepository, git } from './git.ts'
import { movedSubmodules, submodulesBetween } from './moved-submodules.ts'
import { lastTree, openSnapshots, type SnapshotLimits, snapshotEnvironment, snapshotIn } from './snapshot.ts'

export interface TreePair {
  from: string
  to: string
  /** The folder of Chirality's own objects. */
  stateFolder: string
}

export async function diffTrees(
  repository: GitRepository,
  { from, to, stateFolder }: TreePair,
): Promise<Changes> {
  const env = await snapshotEnvironment(repository, stateFolder)
  const [changes, submodules] = await Promise.all([
    diffIn(repository, [from, to], { env }),
    submodulesBetween(repository, [from, to], env).catch(() => []),
  ])
  return withSubmodules(changes, submodules)
}

/**
 * Compares the last commit with the current files. The files usually equal those at the end of the last turn, so that
 * comparison runs while git checks whether they still do.
 */
export async function diffWorkTree(
  repository: GitRepository,
  stateFolder: string,
  limits: Partial<SnapshotLimits> = {},
): Promise<Changes> {
  const opened = await openSnapshots(repository, stateFolder)
  const { env, head } = opened
  const guess = lastTree(repository, stateFolder)
  const stop = new AbortController()
  const guessed =
    guess === undefined
      ? undefined
      : // Objects of the guessed tree may be gone; the snapshot writes them again.
        diffIn(repository, [head, guess], { env, signal: stop.signal }).catch(() => undefined)
  try {
    const { tree } = await snapshotIn(repository, opened, limits)
    const known = tree === guess ? await guessed : undefined
    const changes = known ?? (await diffIn(repository, [head, tree], { env }))
    // Submodules are left out if they cannot be read.
    return withSubmodules(changes, await movedSubmodules(repository, head).catch(() => []))
  } finally {
    stop.abort()
  }
}

function withSubmodules(changes: Changes, submodules: MovedSubmodule[]): Changes {
  return submodules.length === 0 ? changes : { ...changes, submodules }
}

async function diffIn(
  repository: GitRepository,
  trees: [from: string, to: string],
  options: Pick<GitOptions, 'env' | 'signal'>,
): Promise<Changes> {
  const scope = [...trees, ...(repository.prefix === '' ? [] : [`--relative=${repository.prefix}/`])]
  const maxBytes = MAX_LIST_BYTES + MAX_PATCH_BYTES
  const run = (...formats: string[]) =>
    git(repository, ['diff', ...SAFE_DIFF, ...formats, '-z', ...scope], {
      ...options,
      maxBytes,
      cuts: true,
      timeoutMs: DIFF_TIMEOUT_MS,
    })
  let hasPatch = true
  // One run for all formats: each format alone would compare all files again.
  const output = await run('--raw', '--numstat', '--patch').catch((error: unknown) => {
    if (!hasCode(error, 'git-failed') || options.signal?.aborted) throw error
    // The patch may have been too slow: the files are shown without it.
    hasPatch = false
    return run('--raw', '--numstat')
  })
  // An empty field separates the lists from the patch; no name is empty.
  const end = output.indexOf('\0\0')
  if (end === -1 && output.length > maxBytes)
    throw workspaceError('too-large', 'The changes are too large to show.')
  const words = output.toString('utf8', 0, end === -1 ? output.length : end + 1).split('\0')
  const { files, rest } = parseFiles(words)
  const patchBytes = end === -1 ? 0 : output.length - end - 2
  const truncated = !hasPatch || patchBytes > MAX_PATCH_BYTES
  return {
    files: mergeCounts(files, parseCounts(rest)),
    truncated,
    patch: truncated || patchBytes === 0 ? '' : output.toString('utf8', end + 2),
  }
}

const MAX_LIST_BYTES = 8 * 1024 * 1024
const DIFF_TIMEOUT_MS = 30_000
const MAX_PATCH_BYTES = 4 * 1024 * 1024

/** A file of a tree as git stores it; `path` is relative to the root of the project. Undefined if the tree lacks it. */
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

/** Parses the entries of `--raw`, and returns the rest. */
function parseFiles(words: readonly string[]): { files: FileChange[]; rest: readonly string[] } {
  const files: FileChange[] = []
  let i = 0
  while (words[i]?.startsWith(':')) {
    const status = words[i]?.split(' ')[4]?.[0] ?? ''
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
  return { files, rest: words.slice(i) }
}

const KINDS: Readonly<Record<string, FileChange['kind']>> = { A: 'added', D: 'deleted' }

function uncounted(path: string, kind: FileChange['kind']): FileChange {
  return { path, kind, added: null, removed: null }
}

/** Line counts by new name. */
function parseCounts(words: readonly string[]): Map<string, [added: number | null, removed: number | null]> {
  const counts = new Map<string, [number | null, number | null]>()
  for (let i = 0; i < words.length; i += 1) {
    const [added, removed, path] = words[i]?.split('\t') ?? []
    if (added === undefined || removed === undefined || path === undefined) continue
    // After a rename the old and the new name follow as separate fields.
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
