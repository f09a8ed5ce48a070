import { memo, useEffect, useRef, useState } from 'react'
import { DiffCount, FilePath } from '../../diff/DiffView.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { NearBlock } from '../../ui/virtual/NearBlock.tsx'
import { ChangedImages, FileBody, type FileChangeProps, isImage } from './FileBody.tsx'

/** A longer diff is folded: the list of files must stay readable. */
const OPEN_LINES = 200
const ROW_PX = 24
const IMAGE_PX = 200

export const FileChange = memo(function FileChange(props: FileChangeProps) {
  const { file, source, isEager, at, reached, onDiscard, onPlace } = props
  const { diff, note } = file
  const [choice, setChoice] = useState<boolean | null>(null)
  const section = useRef<HTMLElement>(null)
  const head = useRef<HTMLButtonElement>(null)
  const asked = at?.times ?? 0
  // Not `asked`: a key may lead to a file that is drawn only because of it.
  const [answered, setAnswered] = useState(0)
  // While it is drawn: where its lines are is known only when they are there.
  if (asked !== answered) {
    setAnswered(asked)
    if (asked > 0) setChoice(true)
  }
  const { hunk = -1, remarks = 0 } = at ?? {}
  useEffect(() => {
    if (asked <= reached.current) return
    reached.current = asked
    const there = section.current?.querySelector<HTMLElement>(`[data-hunk="${hunk}"]`)
    const target = there ?? head.current
    ;(there ?? section.current)?.scrollIntoView({ block: 'start' })
    // A comment that is begun has the focus already.
    if (remarks === 0) target?.focus({ preventScroll: true })
  }, [asked])
  const hasLines = diff.hunks.length > 0
  const open = choice ?? diff.added + diff.removed <= OPEN_LINES
  const lines = diff.hunks.reduce((sum, one) => sum + one.lines.length + 1, 0)
  return (
    <section
      ref={section}
      className="file-change"
      aria-label={diff.path}
      data-old-path={file.renamedFrom ?? diff.path}
    >
      <div className="file-change__top">
        <button
          ref={head}
          type="button"
          className="file-change__head"
          disabled={!hasLines && !onDiscard}
          aria-expanded={hasLines ? open : undefined}
          onClick={() => hasLines && setChoice(!open)}
          onFocus={() => onPlace({ path: diff.path, hunk: -1 })}
        >
          <Icon name={hasLines ? 'chevron' : 'file'} size={12} />
          <FilePath path={diff.path} />
          {diff.kind === 'update' ? null : (
            <span className="number file-change__kind">{diff.kind === 'add' ? 'new' : 'deleted'}</span>
          )}
          <DiffCount added={diff.added} removed={diff.removed} />
        </button>
        {onDiscard ? (
          <IconButton icon="undo" label="Discard the file’s changes" onClick={() => onDiscard(file, null)} />
        ) : null}
      </div>
      {note === null ? null : <p className="file-change__note">{note}</p>}
      {file.isBinary && source.hasFiles && isImage(diff.path) ? (
        <NearBlock always={isEager} keep height={IMAGE_PX}>
          {() => <ChangedImages file={file} source={source} />}
        </NearBlock>
      ) : null}
      {open && hasLines ? (
        <NearBlock always={isEager || at !== null} keep height={lines * ROW_PX}>
          {() => <FileBody {...props} />}
        </NearBlock>
      ) : null}
    </section>
  )
})
