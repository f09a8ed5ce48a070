import { memo, useEffect, useRef, useState } from 'react'
import { DiffCount, DiffView, FilePath } from '../../diff/DiffView.tsx'
import { type DiffRow, diffRows } from '../../diff/diff-rows.ts'
import { type Comment, saveComments, useComments } from '../../state/kept/comments.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { leave } from '../../ui/keys/leave.ts'
import { Icon } from '../../ui/marks/Icon.tsx'
import type { ChangedFile } from './changes.logic.ts'

/** A longer diff is folded: the list of files must stay readable. */
const OPEN_LINES = 200

interface FileChangeProps {
  sessionId: string
  file: ChangedFile
  /** How often it was asked for in the list of files: each time it opens and is brought into view. */
  asked?: number
}

export const FileChange = memo(function FileChange(props: FileChangeProps) {
  const { sessionId, asked = 0 } = props
  const { diff, note } = props.file
  const [choice, setChoice] = useState<boolean | null>(null)
  const head = useRef<HTMLButtonElement>(null)
  const [answered, setAnswered] = useState(asked)
  // While it is drawn: where its lines are is known only when they are there.
  if (asked !== answered) {
    setAnswered(asked)
    setChoice(true)
  }
  useEffect(() => {
    if (asked === 0) return
    head.current?.parentElement?.scrollIntoView({ block: 'start' })
    head.current?.focus({ preventScroll: true })
  }, [asked])
  const [begun, setBegun] = useState<{ row: DiffRow; text: string } | null>(null)
  // The agent works on while somebody writes: the line may be another row by now, or none.
  const at = begun && findRow(diffRows(diff), begun.row)
  const comments = useComments(sessionId)
  const open = choice ?? diff.added + diff.removed <= OPEN_LINES
  const own = comments.filter(({ path }) => path === diff.path)
  const add = (row: DiffRow, text: string) => {
    const side = row.newLine === null ? 'old' : 'new'
    const comment: Comment = {
      id: crypto.randomUUID(),
      path: diff.path,
      line: row.newLine ?? row.oldLine ?? 0,
      side,
      quote: row.text,
      text,
    }
    saveComments(sessionId, [...comments, comment])
    setBegun(null)
  }
  const form = begun && (
    <CommentForm
      text={begun.text}
      onText={text => setBegun({ ...begun, text })}
      onSave={text => add(begun.row, text)}
      onCancel={() => setBegun(null)}
    />
  )
  const below = (row: DiffRow) => {
    const here = own.filter(comment => isAt(comment, row))
    if (here.length === 0 && at !== row) return null
    return (
      <>
        {here.map(comment => (
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
        {at === row ? form : null}
      </>
    )
  }
  return (
    <section className="file-change" aria-label={diff.path}>
      <button
        ref={head}
        type="button"
        className="file-change__head"
        disabled={diff.hunks.length === 0}
        aria-expanded={diff.hunks.length === 0 ? undefined : open}
        onClick={() => setChoice(!open)}
      >
        <Icon name={diff.hunks.length === 0 ? 'file' : 'chevron'} size={12} />
        <FilePath path={diff.path} />
        {diff.kind === 'update' ? null : (
          <span className="number file-change__kind">{diff.kind === 'add' ? 'new' : 'deleted'}</span>
        )}
        <DiffCount added={diff.added} removed={diff.removed} />
      </button>
      {at === undefined ? form : null}
      {note === null ? null : <p className="file-change__note">{note}</p>}
      {open && diff.hunks.length > 0 ? (
        <DiffView
          diff={diff}
          onLine={row => setBegun(at === row ? null : { row, text: begun?.text ?? '' })}
          below={below}
        />
      ) : null}
    </section>
  )
})

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
