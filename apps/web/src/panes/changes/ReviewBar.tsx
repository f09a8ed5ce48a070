import { lazy, Suspense, useState } from 'react'
import { safeLink } from '../../markdown/safe-link.ts'
import type { ReviewState } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { plural } from '../../ui/text/format.ts'
import { CommitDialog, MergeDialog } from './ReviewDialogs.tsx'
import { usePaneKeys } from './use-pane-keys.ts'
import type { Review } from './use-review.ts'
import './review.css'

type FileMove = ReviewState['moves'][number]

const PushDialog = lazy(() => import('./PushDialog.tsx'))

interface ReviewBarProps {
  sessionId: string
  review: Review
  state: ReviewState
}

/** Discarded changes with their undo, notes for the agent, and commit, merge and push. */
export default function ReviewBar({ sessionId, review, state }: ReviewBarProps) {
  const client = useClient()
  const [open, setOpen] = useState<'commit' | 'merge' | 'push' | null>(null)
  const [said, setSaid] = useState<string | null>(null)
  const [link, setLink] = useState<string>()
  // Another machine may have said it, and a machine may lie.
  const address = link && safeLink(link)
  /** The newest move before what was committed or merged here: its line has had its time. */
  const [settled, setSettled] = useState<string>()
  const { waits, run } = review
  const { branches, moves, uncommitted, untold } = state
  // The newest that can be undone, and the one that was undone last.
  const last = moves.find(move => move.state === 'done')
  const undone = lastUndone(moves)
  const move = (which: FileMove | undefined, redo: boolean) => {
    if (!which || waits) return undefined
    return () => {
      setSaid(null)
      void run(() =>
        redo
          ? client.review.redo.mutate({ sessionId, id: which.id })
          : client.review.undo.mutate({ sessionId, id: which.id }),
      )
    }
  }
  const [undo, redo] = [move(last, false), move(undone, true)]
  const canCommit = uncommitted.length > 0
  const canMerge = branches !== null && branches.ahead + branches.uncommitted > 0
  // Also while the agent works: what is committed does not change by it.
  const canPush = state.remotes.length > 0 && !review.isBusy && !review.isAway
  const show = (dialog: 'commit' | 'merge' | 'push') => () => {
    setSaid(null)
    setLink(undefined)
    review.forgetFailure()
    setOpen(dialog)
  }
  usePaneKeys({
    u: undo,
    U: redo,
    c: canCommit && !waits ? show('commit') : undefined,
    m: canMerge && !waits ? show('merge') : undefined,
    g: canPush ? show('push') : undefined,
  })
  const shown = moves[0]?.id === settled ? undefined : (undone ?? last)
  const done = (words: string) => {
    setSaid(words)
    setSettled(moves[0]?.id)
  }
  return (
    <section className="review-bar" aria-label="Review">
      {review.failure && open === null ? (
        <p className="review-bar__line review-bar__line--bad" role="alert">
          <span>{review.failure}</span>
          <IconButton icon="close" label="Close message" onClick={review.forgetFailure} />
        </p>
      ) : null}
      {said ? (
        <p className="review-bar__line" role="status">
          <span>{said}</span>
          {address ? (
            <a href={address} target="_blank" rel="noreferrer">
              {link}
            </a>
          ) : (
            link
          )}
        </p>
      ) : null}
      {shown ? (
        <p className="review-bar__line">
          <Icon name="undo" size={14} />
          <span role="status">{shown === undone ? `Undone: ${shown.what}` : shown.what}</span>
          {last ? (
            <Button size="small" disabled={!undo} title={last.what} onClick={undo}>
              Undo <Kbd>U</Kbd>
            </Button>
          ) : null}
          {undone ? (
            <Button size="small" disabled={!redo} title={undone.what} onClick={redo}>
              Redo <Kbd>Shift U</Kbd>
            </Button>
          ) : null}
        </p>
      ) : null}
      {untold.length > 0 ? <Told notes={untold} /> : null}
      <p className="review-bar__line">
        <span className="review-bar__facts">{waits ?? factsOf(state)}</span>
        {canCommit ? (
          <Button look="primary" disabled={waits !== null} onClick={show('commit')}>
            Commit… <Kbd>C</Kbd>
          </Button>
        ) : null}
        {branches && canMerge ? (
          <Button look={canCommit ? 'plain' : 'primary'} disabled={waits !== null} onClick={show('merge')}>
            {`Merge into ${branches.base}`} <Kbd>M</Kbd>
          </Button>
        ) : null}
        {canPush ? (
          <Button onClick={show('push')}>
            Push… <Kbd>G</Kbd>
          </Button>
        ) : null}
      </p>
      {open === 'push' ? (
        <Suspense>
          <PushDialog
            {...{ sessionId, review }}
            onClose={() => setOpen(null)}
            onDone={(words, url) => {
              done(words)
              setLink(url)
            }}
          />
        </Suspense>
      ) : null}
      {open === 'commit' ? (
        <CommitDialog {...{ sessionId, review, state }} onClose={() => setOpen(null)} onDone={done} />
      ) : null}
      {open === 'merge' && branches ? (
        <MergeDialog
          {...{ sessionId, review, state, branches }}
          onCommit={() => setOpen('commit')}
          onClose={() => setOpen(null)}
          onDone={done}
        />
      ) : null}
    </section>
  )
}

/** The latest of those that were undone, if nothing was taken back after it. */
function lastUndone(moves: readonly FileMove[]): FileMove | undefined {
  const first = moves.findIndex(({ state }) => state === 'done')
  return moves.slice(0, first === -1 ? moves.length : first).at(-1)
}

function factsOf({ branches, uncommitted }: ReviewState): string {
  const loose =
    uncommitted.length === 0 ? 'Everything is committed' : `${plural(uncommitted.length, 'file')} to commit`
  if (branches === null) return loose
  const { base, ahead, behind, conflicts } = branches
  const commits = ahead === 0 ? [] : [`${plural(ahead, 'commit')} for ${base}`]
  const later = behind === 0 ? [] : [`${base} has ${plural(behind, 'commit')} more`]
  const clash = conflicts.length === 0 ? [] : [`conflicts in ${plural(conflicts.length, 'file')}`]
  return [loose, ...commits, ...later, ...clash].join(' · ')
}

/** Word for word what goes before the next message. */
function Told({ notes }: { notes: readonly string[] }) {
  return (
    <details className="review-bar__told">
      <summary>{`The agent is told with your next message (${notes.length})`}</summary>
      <ul>
        {notes.map((note, index) => (
          <li key={index}>{note}</li>
        ))}
      </ul>
    </details>
  )
}
