import { type GitRepository, git } from '../git/git.ts'
import { asUser } from '../review/commit.ts'
import { readBlobs } from '../review/read-objects.ts'
import { type BlameRequest, blameFile, MAX_BLAME_BYTES, type PastState } from './blame-file.ts'

/** Lines of a commit that one turn wrote. */
export interface TurnLines {
  turn: string
  file: string
  /** First line, counted from 1. */
  from: number
  to: number
}

export interface CommitOfTurns {
  commit: string
  /** Number of lines that the commit added in text files. */
  added: number
  lines: TurnLines[]
}

export type CommitsRequest = Omit<BlameRequest, 'file' | 'content' | 'at' | 'running'> & { limit: number }

/** The lines that turns wrote in the latest commits of the current branch, newest first, without merges. */
export async function commitsOfTurns(
  repository: GitRepository,
  { limit, ...request }: CommitsRequest,
): Promise<CommitOfTurns[]> {
  const first = Math.min(...request.points.map(({ at }) => at ?? 0))
  if (request.points.length === 0) return []
  const since = `--max-age=${Math.floor(first / 1000)}`
  const listed = await git(repository, [
    'log',
    '--no-merges',
    `--max-count=${limit}`,
    since,
    '--format=%H %ct',
  ])
  const found: CommitOfTurns[] = []
  for (const line of listed.toString('utf8').split('\n').filter(Boolean)) {
    const [commit = '', seconds = ''] = line.split(' ')
    // Commit times have whole seconds: states recorded in the same second count.
    const at = { tree: `${commit}^{tree}`, commit, time: Number(seconds) * 1000 + 999 }
    const { added, lines } = await linesOf(repository, { ...request, at })
    if (lines.length > 0) found.push({ commit, added, lines })
  }
  return found
}

/** A separate ref: `git log --notes=chirality` shows it, and nothing else in git reads it. */
export const NOTES_REF = 'refs/notes/chirality'

/** Replaces the notes of these commits. Other notes and the commits themselves stay unchanged. */
export async function writeNotes(
  repository: GitRepository,
  notes: readonly { commit: string; text: string }[],
): Promise<void> {
  const own = await asUser(repository)
  for (const { commit, text } of notes) {
    const args = ['notes', `--ref=${NOTES_REF}`, 'add', '--force', '--file=-', commit]
    await git(own, args, { input: text })
  }
}

async function linesOf(
  repository: GitRepository,
  request: Omit<CommitsRequest, 'limit'> & { at: PastState & { commit: string } },
): Promise<{ added: number; lines: TurnLines[] }> {
  const { at } = request
  let added = 0
  const lines: TurnLines[] = []
  for (const { file, blob } of await filesOf(repository, at.commit)) {
    const content = (await readBlobs(repository, [blob])).get(blob)
    if (content === undefined || content.length > MAX_BLAME_BYTES || content.includes(0)) continue
    const ranges = await addedRanges(repository, at.commit, file)
    added += ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0)
    const inProject = repository.prefix === '' ? file : file.slice(repository.prefix.length + 1)
    const blamed = await blameFile(repository, {
      ...request,
      file: inProject,
      content,
      at,
      running: new Set<string>(),
    })
    for (const { line, count, origin } of blamed) {
      if (origin.kind !== 'turns' || !origin.isSure || origin.turns.length !== 1) continue
      for (const range of ranges) {
        const from = Math.max(line, range.from)
        const to = Math.min(line + count - 1, range.to)
        if (from <= to) lines.push({ turn: origin.turns[0] ?? '', file: inProject, from, to })
      }
    }
  }
  return { added, lines }
}

/** Files of the project that the commit added or changed. */
async function filesOf(repository: GitRepository, commit: string): Promise<{ file: string; blob: string }[]> {
  const options = ['-r', '-z', '--root', '--raw', '--no-renames', '--no-abbrev', '--no-commit-id']
  const listed = await git(repository, [
    ...['diff-tree', ...options, '--diff-filter=AM', commit, '--', repository.prefix || '.'],
  ])
  const words = listed.toString('utf8').split('\0')
  const files: { file: string; blob: string }[] = []
  for (let i = 0; i + 1 < words.length && files.length < MAX_FILES; i += 2) {
    const blob = /^:\d+ 100\d+ [0-9a-f]+ ([0-9a-f]+) [AM]$/.exec(words[i] ?? '')?.[1]
    if (blob !== undefined) files.push({ file: words[i + 1] ?? '', blob })
  }
  return files
}

async function addedRanges(
  repository: GitRepository,
  commit: string,
  file: string,
): Promise<{ from: number; to: number }[]> {
  const safe = ['--no-ext-diff', '--no-textconv', '--no-color', '--no-renames', '--no-commit-id']
  const patch = await git(repository, ['diff-tree', '-p', '-U0', '--root', ...safe, commit, '--', file], {
    maxBytes: 8 * MAX_BLAME_BYTES,
  })
  const ranges: { from: number; to: number }[] = []
  for (const [, start, count = '1'] of patch
    .toString('latin1')
    .matchAll(/^@@ -\S+ \+(\d+)(?:,(\d+))? @@/gm)) {
    if (Number(count) > 0) ranges.push({ from: Number(start), to: Number(start) + Number(count) - 1 })
  }
  return ranges
}

const MAX_FILES = 200
