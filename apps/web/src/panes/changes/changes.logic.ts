import { type FileDiff, fileDiff, parseUnifiedDiff } from '../../diff/file-diff.ts'
import type { TreeDiff } from '../../state/server/answers.ts'

export interface ChangedFile {
  path: string
  diff: FileDiff
  /** Note on a file without lines, or with another name. */
  note: string | null
  renamedFrom?: string
  /** It has no lines, because it is not text. */
  isBinary: boolean
}

/** Every file that changed, those without lines to show as well, and why they have none. */
export function changedFiles({ files, patch, truncated }: TreeDiff): ChangedFile[] {
  const diffs = new Map(parseUnifiedDiff(patch).map(diff => [diff.path, diff]))
  const listed = files.map((file): ChangedFile => {
    const diff = diffs.get(file.path) ?? fileDiff(file.path, KINDS[file.kind], [])
    diffs.delete(file.path)
    return {
      path: file.path,
      diff: { ...diff, kind: KINDS[file.kind] },
      note: noteOf(file, diff, truncated),
      ...(file.renamedFrom === undefined ? {} : { renamedFrom: file.renamedFrom }),
      isBinary: file.added === null && diff.hunks.length === 0,
    }
  })
  const unlisted = [...diffs.values()].map(diff => ({ path: diff.path, diff, note: null, isBinary: false }))
  return [...listed, ...unlisted]
}

const KINDS = { added: 'add', deleted: 'delete', changed: 'update', renamed: 'update' } as const

function noteOf(file: TreeDiff['files'][number], { hunks }: FileDiff, truncated: boolean): string | null {
  const renamed = file.renamedFrom === undefined ? '' : renamedWords(file)
  if (hunks.length > 0) return renamed === '' ? null : `${renamed}.`
  return [renamed, withoutLines(file, truncated)].filter(Boolean).join('; ').concat('.')
}

function renamedWords({ kind, renamedFrom }: TreeDiff['files'][number]): string {
  return `${kind === 'renamed' ? 'Renamed' : 'Copied'} from ${renamedFrom}`
}

function withoutLines({ kind, added, removed, renamedFrom }: TreeDiff['files'][number], truncated: boolean) {
  if (added === null || removed === null) return 'Binary file, no lines to show'
  if (added + removed > 0) {
    const count = `${added} added, ${removed} removed`
    return truncated
      ? `All changes together are too large to show: ${count}`
      : `Its lines cannot be shown: ${count}`
  }
  if (renamedFrom !== undefined) return 'its lines are the same'
  return kind === 'changed' ? 'Only its mode changed, no line did' : 'Empty file'
}

export interface ChangesBy {
  /** Files that an edit of this session named. */
  own: ChangedFile[]
  /** The folder is shared: what commands, other sessions and people changed. */
  others: ChangedFile[]
}

/** `edited` are paths as the session's tools gave them, from the root of the file system or of the project. */
export function splitChanges(
  files: readonly ChangedFile[],
  edited: ReadonlySet<string>,
  root: string,
): ChangesBy {
  const isOwn = ({ path }: ChangedFile) => edited.has(path) || edited.has(`${root}/${path}`)
  return { own: files.filter(isOwn), others: files.filter(file => !isOwn(file)) }
}

export const WORKING_TREE = 'tree'
/** All that a branch has and its base has not. */
export const BRANCH = 'branch'

/** Where somebody is in the review: a hunk of a file, or the file itself. */
export interface Place {
  path: string
  /** -1 is the file itself. */
  hunk: number
}

/** Each hunk, and each file without any, in the order in which they are shown. */
function placesOf(files: readonly ChangedFile[]): Place[] {
  return files.flatMap(({ path, diff: { hunks } }) =>
    hunks.length === 0 ? [{ path, hunk: -1 }] : hunks.map((_, hunk) => ({ path, hunk })),
  )
}

/** The next or previous change; at the ends it is the one there. */
export function stepChange(files: readonly ChangedFile[], at: Place | null, by: 1 | -1): Place | null {
  const places = placesOf(files)
  if (at === null) return places[by === 1 ? 0 : places.length - 1] ?? null
  const index = places.findIndex(({ path, hunk }) => path === at.path && hunk === at.hunk)
  if (index >= 0) return places[index + by] ?? places[index] ?? null
  // At the head of a file, or at a hunk that is gone by now.
  const first = places.findIndex(({ path }) => path === at.path)
  const own = places.filter(({ path }) => path === at.path)
  if (first === -1) return places[0] ?? null
  if (at.hunk === -1) return places[by === 1 ? first : Math.max(0, first - 1)] ?? null
  return own.at(-1) ?? null
}

export function stepFile(files: readonly ChangedFile[], at: Place | null, by: 1 | -1): Place | null {
  const index = files.findIndex(({ path }) => path === at?.path)
  const next = files[index === -1 ? 0 : Math.min(files.length - 1, Math.max(0, index + by))]
  return next ? { path: next.path, hunk: -1 } : null
}

/** The same place after the changes were read again: the hunk that is there now, else the last, else the file or its neighbour. */
export function placeNow(files: readonly ChangedFile[], at: Place): Place | null {
  const file = files.find(({ path }) => path === at.path)
  if (!file) return null
  return { path: at.path, hunk: Math.min(at.hunk, file.diff.hunks.length - 1) }
}
