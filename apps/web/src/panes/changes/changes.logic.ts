import { type FileDiff, fileDiff, parseUnifiedDiff } from '../../diff/file-diff.ts'
import type { TreeDiff } from '../../state/server/server-api.ts'

export interface ChangedFile {
  path: string
  diff: FileDiff
  /** What its lines do not say: that it has none, or another name. */
  note: string | null
}

/** Every file that changed, those without lines to show as well, and why they have none. */
export function changedFiles({ files, patch, truncated }: TreeDiff): ChangedFile[] {
  const diffs = new Map(parseUnifiedDiff(patch).map(diff => [diff.path, diff]))
  const listed = files.map((file): ChangedFile => {
    const diff = diffs.get(file.path) ?? fileDiff(file.path, KINDS[file.kind], [])
    diffs.delete(file.path)
    return { path: file.path, diff: { ...diff, kind: KINDS[file.kind] }, note: noteOf(file, diff, truncated) }
  })
  return [...listed, ...[...diffs.values()].map(diff => ({ path: diff.path, diff, note: null }))]
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
