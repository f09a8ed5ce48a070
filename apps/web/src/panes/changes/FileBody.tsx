import type { CallInputs } from '@chirality/client'
import { useQuery } from '@tanstack/react-query'
import { type RefObject, useMemo, useState } from 'react'
import { type DiffRow, diffRows } from '../../diff/diff-rows.ts'
import { ReviewDiff } from '../../diff/ReviewDiff.tsx'
import { linesOf, type ReviewLook, reviewRows } from '../../diff/review-rows.ts'
import { type Comment, saveComments, useComments } from '../../state/kept/comments.ts'
import type { FileOfTree } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { leave } from '../../ui/keys/leave.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import type { ChangedFile, Place } from './changes.logic.ts'

type ChangedFileRequest = CallInputs['review']['file']

export interface FileChangeProps {
  file: ChangedFile
  source: FileSource
  look: ReviewLook
  /** At the top of the page: drawn at once. */
  isEager: boolean
  /** Where the person is, if that is in this file. `times` grows with each step there, `remarks` with each wish to comment. */
  at: (Place & { times: number; remarks: number }) | null
  /** The last of all `times` that the focus followed: a file that comes back into the list does not take it again. */
  reached: RefObject<number>
  /** Undefined where nothing can be taken back. */
  onDiscard: ((file: ChangedFile, hunk: number | null) => void) | undefined
  onPlace(place: Place): void
}

/** Which trees the file is of. */
export type FileSource = Omit<ChangedFileRequest, 'path' | 'side'> & {
  /** The server has the files themselves, and not only what changed in them. */
  hasFiles: boolean
}

/** Lines that one click adds around a change. */
const WIDER = 20
const NONE: ReadonlyMap<number, number> = new Map()

/** The lines of a changed file, with comments on them. */
export function FileBody({ file, source, look, isEager, at, onDiscard, onPlace }: FileChangeProps) {
  const { diff } = file
  const { sessionId } = source
  const [wanted, setWanted] = useState(NONE)
  const { text, problem } = useWholeFile(file, source, wanted.size > 0)
  const around = useMemo(() => (text === null ? null : { lines: linesOf(text), wanted }), [text, wanted])
  const rows = useMemo(() => reviewRows(diff, look, around), [diff, look, around])
  const [begun, setBegun] = useState<{ row: DiffRow; text: string } | null>(null)
  const remarks = at?.remarks ?? 0
  const [remarked, setRemarked] = useState(0)
  if (remarks !== remarked) {
    setRemarked(remarks)
    const row = remarks > 0 ? rowToRemark(file, at?.hunk ?? 0) : undefined
    if (row) setBegun({ row, text: begun?.text ?? '' })
  }
  // The agent works on while somebody writes: the line may be another row by now, or none.
  const lines = useMemo(() => rows.flatMap(row => (row.kind === 'line' ? [row.row] : [])), [rows])
  const here = begun && findRow(look.split ? diffRows(diff) : lines, begun.row)
  const comments = useComments(sessionId)
  const own = comments.filter(({ path }) => path === diff.path)
  const end = () => {
    setBegun(null)
    // Keys go on from where the person is.
    if (at) document.querySelector<HTMLElement>('.hunk--current')?.focus({ preventScroll: true })
  }
  const add = (row: DiffRow, said: string) => {
    const side = row.newLine === null ? 'old' : 'new'
    const comment: Comment = {
      id: crypto.randomUUID(),
      path: diff.path,
      line: row.newLine ?? row.oldLine ?? 0,
      side,
      quote: row.text,
      text: said,
    }
    saveComments(sessionId, [...comments, comment])
    end()
  }
  const form = begun && (
    <CommentForm
      text={begun.text}
      onText={said => setBegun({ ...begun, text: said })}
      onSave={said => add(begun.row, said)}
      onCancel={end}
    />
  )
  const below = (row: DiffRow) => {
    const isHere = here && isSameRow(here, row)
    const found = own.filter(comment => isAt(comment, row))
    if (found.length === 0 && !isHere) return null
    return (
      <>
        {found.map(comment => (
          <p key={comment.id} className="comment">
            <span className="comment__text">{comment.text}</span>
            <span className="comment__note">goes with your next message</span>
            <IconButton
              icon="close"
              label="Drop this comment"
              onClick={() =>
                saveComments(
                  sessionId,
                  comments.filter(({ id }) => id !== comment.id),
                )
              }
            />
          </p>
        ))}
        {isHere ? form : null}
      </>
    )
  }
  const widen = (hunk: number) =>
    setWanted(before => new Map([...before, [hunk, (before.get(hunk) ?? 0) + WIDER]]))
  return (
    <>
      {here === undefined ? form : null}
      {problem ? <p className="file-change__note">{problem}</p> : null}
      <ReviewDiff
        {...{ diff, rows, isEager, below }}
        current={at?.hunk ?? null}
        onLine={row => setBegun(here && isSameRow(here, row) ? null : { row, text: begun?.text ?? '' })}
        onDiscard={onDiscard && (hunk => onDiscard(file, hunk))}
        onWiden={source.hasFiles && diff.kind === 'update' && !problem ? widen : undefined}
        onCurrent={hunk => onPlace({ path: diff.path, hunk })}
      />
    </>
  )
}

/** The file as it became, once it is wanted. */
function useWholeFile({ path }: ChangedFile, source: FileSource, isWanted: boolean) {
  const client = useClient()
  const { hasFiles: _, ...request } = source
  const { data, error } = useQuery(
    client.review.file.queryOptions(
      { ...request, path, side: 'new' },
      { enabled: isWanted, staleTime: 0, gcTime: 0, retry: false },
    ),
  )
  const text = data?.kind === 'text' ? data.text : null
  const problem = error
    ? messageOf(error)
    : data === undefined || text !== null
      ? null
      : 'The rest of this file cannot be shown: it is too large, or no text.'
  return { text, problem }
}

export function isImage(path: string): boolean {
  return /\.(png|jpe?g|gif|webp)$/i.test(path)
}

/** Old and new picture side by side. */
export function ChangedImages({ file, source }: { file: ChangedFile; source: FileSource }) {
  const client = useClient()
  const { hasFiles: _, ...request } = source
  const { path, renamedFrom } = file
  const options = { staleTime: 0, gcTime: 0, retry: false }
  const { data: before } = useQuery(
    client.review.file.queryOptions({ ...request, path: renamedFrom ?? path, side: 'old' }, options),
  )
  const { data: after } = useQuery(
    client.review.file.queryOptions({ ...request, path, side: 'new' }, options),
  )
  if (before === undefined || after === undefined) return null
  return (
    <div className="file-change__images">
      <Picture file={before} label="Before" />
      <Picture file={after} label="After" />
    </div>
  )
}

function Picture({ file, label }: { file: FileOfTree; label: string }) {
  if (file?.kind !== 'image') return null
  return (
    <figure>
      <img src={`data:${file.mediaType};base64,${file.base64}`} alt={label} />
      <figcaption>{label}</figcaption>
    </figure>
  )
}

/** The first line that changed in a hunk, as it is now if it is still there. */
function rowToRemark({ diff }: ChangedFile, hunk: number): DiffRow | undefined {
  const chosen = diff.hunks[Math.max(0, hunk)]
  const rows = chosen ? diffRows({ ...diff, hunks: [chosen] }) : []
  return rows.find(({ mark }) => mark === '+') ?? rows.find(({ mark }) => mark === '-')
}

function isSameRow(a: DiffRow, b: DiffRow): boolean {
  return a.oldLine === b.oldLine && a.newLine === b.newLine
}

function isAt({ side, line }: Comment, { oldLine, newLine }: DiffRow): boolean {
  return side === 'old' ? newLine === null && oldLine === line : newLine === line
}

/** The same line in a newer diff: where it was, else the nearest that says the same. */
function findRow(rows: readonly DiffRow[], wanted: DiffRow): DiffRow | undefined {
  const line = (row: DiffRow) => row.newLine ?? row.oldLine ?? 0
  const distance = (row: DiffRow) => Math.abs(line(row) - line(wanted))
  return rows
    .filter(({ mark, text }) => text === wanted.text && (mark === '-') === (wanted.mark === '-'))
    .reduce<DiffRow | undefined>(
      (best, row) => (best && distance(best) <= distance(row) ? best : row),
      undefined,
    )
}

interface CommentFormProps {
  text: string
  onText(text: string): void
  onSave(text: string): void
  onCancel(): void
}

function CommentForm({ text, onText, onSave, onCancel }: CommentFormProps) {
  const save = () => text.trim() !== '' && onSave(text.trim())
  return (
    <form
      className="comment-form"
      onSubmit={event => {
        event.preventDefault()
        save()
      }}
    >
      <textarea
        className="input"
        rows={2}
        aria-label="Comment"
        placeholder="Say what should be different"
        value={text}
        onChange={event => onText(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Escape') leave(event, onCancel)
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
          event.preventDefault()
          save()
        }}
        // biome-ignore lint/a11y/noAutofocus: the person has just asked for this field
        autoFocus
      />
      <div className="comment-form__row">
        <Button type="submit" size="small" disabled={text.trim() === ''}>
          Add comment
        </Button>
        <Button size="small" look="quiet" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </form>
  )
}
