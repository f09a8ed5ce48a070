import { type GitRepository, git, OWN_IDENTITY } from '../git/git.ts'
import { snapshotEnvironment } from '../git/snapshot.ts'

/** The recorded work of one session. */
export interface SessionWork {
  session: string
  /** Identifies its work folder: two sessions in one folder have the same. */
  place: string
  /** The commit that is checked out there. */
  head: string
  /**
   * The branch or commit at which its work started. Null in the project's folder, where the uncommitted changes are its
   * work.
   */
  base: string | null
  /** The files after its last turn. */
  tree: string
  /** Only these files are its own, relative to the root of the repository. Null: all that differ. */
  files: ReadonlySet<string> | null
}

/** First and last line, both included, counted from 1. */
export type LineRange = [from: number, to: number]

export interface Overlap {
  session: string
  files: OverlappingFile[]
}

export interface OverlappingFile {
  /** Relative to the root of the repository. */
  file: string
  /** True if the two versions would not merge. */
  conflicts: boolean
  /** Line ranges that each session changed, in its own version; empty if the file is not text. */
  own: LineRange[]
  theirs: LineRange[]
}

/**
 * Finds other sessions of the repository that changed the same files, and where the two would not merge. Reads only
 * recorded states, so no agent is disturbed; each pair of states is compared once.
 */
export async function findOverlaps(
  repository: GitRepository,
  { stateFolder, own, others }: { stateFolder: string; own: SessionWork; others: readonly SessionWork[] },
): Promise<Overlap[]> {
  const env = await snapshotEnvironment(repository, stateFolder)
  const here = { ...repository, env: { ...repository.env, ...env } }
  const mine = await changesOf(here, own)
  if (mine.size === 0) return []
  const found: Overlap[] = []
  for (const other of others.slice(0, MAX_OTHERS)) {
    const theirs = await changesOf(here, other)
    const both = [...mine.keys()].filter(file => theirs.has(file))
    if (both.length === 0) continue
    const unmerged = own.place === other.place ? new Set<string>() : await conflictsOf(here, own, other)
    const files = both.sort().map(file => {
      const conflicts = unmerged.has(file)
      const [left, right] = [mine.get(file) ?? [], theirs.get(file) ?? []]
      const touching = conflicts ? touches(left, right) : undefined
      return {
        file,
        conflicts,
        own: (touching?.left ?? left).map(({ lines }) => lines),
        theirs: (touching?.right ?? right).map(({ lines }) => lines),
      }
    })
    // Conflicts come first, because they need attention.
    files.sort((a, b) => Number(b.conflicts) - Number(a.conflicts))
    found.push({ session: other.session, files: files.slice(0, MAX_FILES) })
  }
  return found
}

const MAX_OTHERS = 20
const MAX_FILES = 100

interface Hunk {
  /** Range in the common earlier version, if both started from the same. */
  before: LineRange
  lines: LineRange
}

/** Hunks by file; empty for a file that is not text. */
type FileHunks = Map<string, Hunk[]>

async function changesOf(repository: GitRepository, work: SessionWork): Promise<FileHunks> {
  const { head, base, tree, files } = work
  const from = base === null ? head : await forkPoint(repository, head, base)
  const all = await kept(`diff ${from} ${tree}`, () => diffHunks(repository, from, tree))
  return files === null ? all : new Map([...all].filter(([file]) => files.has(file)))
}

/** The commit where the branch left its base, or the commit itself if the base is gone. */
async function forkPoint(repository: GitRepository, head: string, base: string): Promise<string> {
  const found = await git(repository, ['merge-base', head, base], { okCodes: [0, 1, 128] })
  return found.toString('utf8').trim() || head
}

async function diffHunks(repository: GitRepository, from: string, to: string): Promise<FileHunks> {
  const safe = ['--no-ext-diff', '--no-textconv', '--no-color', '--no-renames', '--ignore-submodules=all']
  const names = await git(repository, ['diff', ...safe, '--name-only', '-z', from, to], {
    maxBytes: MAX_BYTES,
  })
  const hunks: FileHunks = new Map(
    names
      .toString('utf8')
      .split('\0')
      .filter(Boolean)
      .map(file => [file, []]),
  )
  const patch = await git(
    repository,
    ['diff', ...safe, '-U0', '--src-prefix=a/', '--dst-prefix=b/', from, to],
    {
      maxBytes: MAX_BYTES,
    },
  ).catch(() => Buffer.alloc(0))
  let file: string | undefined
  const order = [...hunks.keys()]
  let next = 0
  let header = ''
  for (const line of patch.toString('utf8').split('\n')) {
    // The files of the patch have the order of the names, which need no unquoting. A file that became a link, or a link
    // that became a file, has two entries: a deletion and a creation.
    if (line.startsWith('diff --git ') && line !== header) {
      header = line
      file = order[next++]
    }
    const [, a, aCount = '1', b, bCount = '1'] =
      /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line) ?? []
    if (file === undefined || a === undefined || b === undefined) continue
    const list = hunks.get(file)
    if (list !== undefined && list.length < MAX_HUNKS)
      list.push({ before: range(Number(a), Number(aCount)), lines: range(Number(b), Number(bCount)) })
  }
  return hunks
}

/** An empty range is named by the line before it. */
function range(from: number, count: number): LineRange {
  return [Math.max(1, from), Math.max(1, from + count - 1, from)]
}

/**
 * The hunks of both that overlap in the earlier version. All of them if none does, because the two started from
 * different versions.
 */
function touches(
  left: readonly Hunk[],
  right: readonly Hunk[],
): { left: readonly Hunk[]; right: readonly Hunk[] } {
  const meets = (a: Hunk, b: Hunk) => a.before[0] <= b.before[1] + 1 && b.before[0] <= a.before[1] + 1
  const lefts = left.filter(a => right.some(b => meets(a, b)))
  const rights = right.filter(b => left.some(a => meets(a, b)))
  return lefts.length === 0 ? { left, right } : { left: lefts, right: rights }
}

/** Files that would not merge, including uncommitted changes. */
async function conflictsOf(
  repository: GitRepository,
  own: SessionWork,
  other: SessionWork,
): Promise<ReadonlySet<string>> {
  const key = `merge ${own.head} ${own.tree} ${other.head} ${other.tree}`
  return kept(key, async () => {
    const [ours, theirs] = [await stateCommit(repository, own), await stateCommit(repository, other)]
    const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', ours, theirs]
    // Histories without a common commit do not merge at all.
    const output = await git(repository, args, { okCodes: [0, 1, 128], timeoutMs: TIMEOUT_MS })
    const [, ...conflicts] = output.toString('utf8').split('\0').filter(Boolean)
    return new Set(conflicts)
  })
}

/** Commits the files of a session, among Chirality's objects, on top of the current commit. */
async function stateCommit(repository: GitRepository, { head, tree }: SessionWork): Promise<string> {
  const made = await git(repository, ['commit-tree', tree, '-p', head, '-m', 'state'], { env: IDENTITY })
  return made.toString('utf8').trim()
}

/** Fixed dates, so that equal states give equal commits. */
const IDENTITY = { ...OWN_IDENTITY, GIT_AUTHOR_DATE: '@0 +0000', GIT_COMMITTER_DATE: '@0 +0000' }

/** Results by the ids of the compared objects, which always stand for the same content. */
const results = new Map<string, Promise<unknown>>()
const MAX_RESULTS = 500

function kept<T>(key: string, compute: () => Promise<T>): Promise<T> {
  const known = results.get(key) as Promise<T> | undefined
  if (known !== undefined) return known
  const made = compute()
  results.set(key, made)
  for (const oldest of results.keys()) {
    if (results.size <= MAX_RESULTS) break
    results.delete(oldest)
  }
  made.catch(() => results.delete(key))
  return made
}

const MAX_BYTES = 16 * 1024 * 1024
const MAX_HUNKS = 200
const TIMEOUT_MS = 60_000
