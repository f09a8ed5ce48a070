import type { CallInputs } from '@chirality/client'
import { useState } from 'react'
import type { ReviewState } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { CheckField, Form, TextField } from '../../ui/controls/Form.tsx'
import { Segmented } from '../../ui/controls/Segmented.tsx'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { plural } from '../../ui/text/format.ts'
import type { Review } from './use-review.ts'

type MergeRequest = CallInputs['review']['merge']

interface DialogProps {
  sessionId: string
  review: Review
  state: ReviewState
  onClose(): void
  /** Called with the outcome in one line. */
  onDone(said: string): void
}

export function CommitDialog({ sessionId, review, state, onClose, onDone }: DialogProps) {
  const client = useClient()
  // What is committed is what was shown when the dialog opened.
  const [{ proposedMessage, uncommitted, hooks }] = useState(state)
  const [message, setMessage] = useState(proposedMessage)
  const [withHooks, setWithHooks] = useState(false)
  const isReady = review.waits === null && message.trim() !== ''
  const commit = async () => {
    if (!isReady) return
    const files = uncommitted.length > MAX_NAMED_FILES ? {} : { files: uncommitted }
    const request = { sessionId, message, ...files, hooks: withHooks }
    const made = await review.run(() => client.review.commit.mutate(request))
    if (made === undefined) return
    onDone(`Committed ${plural(made.files.length, 'file')} as ${made.commit.slice(0, 9)}.`)
    onClose()
  }
  return (
    <Dialog title="Commit" onClose={onClose}>
      <Form
        className="review-dialog"
        failure={review.failure}
        onSend={() => void commit()}
        foot={
          <>
            <Button look="quiet" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" look="primary" disabled={!isReady}>
              Commit <Kbd>Ctrl Enter</Kbd>
            </Button>
          </>
        }
      >
        <TextField
          label="Message"
          hint="Proposed from the conversation, without asking a model."
          rows={8}
          isCode={true}
          isFirst={true}
          value={message}
          onChange={setMessage}
        />
        <FileNames
          title={`${plural(uncommitted.length, 'file')}, by your git identity`}
          files={uncommitted}
        />
        {hooks.length > 0 ? (
          <CheckField
            label={`Run the hooks of the repository: ${hooks.join(', ')}`}
            isOn={withHooks}
            onChange={setWithHooks}
          />
        ) : null}
      </Form>
    </Dialog>
  )
}

/** More of them are not named one by one: then it is what the server finds. */
const MAX_NAMED_FILES = 10_000

type How = MergeRequest['how']

const HOWS: readonly { value: How; label: string }[] = [
  { value: 'merge', label: 'Merge' },
  { value: 'squash', label: 'Squash' },
  { value: 'rebase', label: 'Rebase' },
]

interface MergeDialogProps extends DialogProps {
  branches: NonNullable<ReviewState['branches']>
  onCommit(): void
}

export function MergeDialog(props: MergeDialogProps) {
  const { sessionId, review, state, branches, onCommit, onClose, onDone } = props
  const client = useClient()
  const [how, setHow] = useState<How>('merge')
  const [message, setMessage] = useState(state.proposedMessage)
  const [found, setFound] = useState<readonly string[] | null>(null)
  const { branch, base, ahead, behind, uncommitted } = branches
  // A rebase does not change the base.
  const blocked = how === 'rebase' ? null : branches.blocked
  const conflicts = found ?? branches.conflicts
  // A rebase may still work: it was not tried.
  const isStuck = conflicts.length > 0 && (found !== null || how !== 'rebase')
  const isWritten = how !== 'squash' || message.trim() !== ''
  const isReady = review.waits === null && uncommitted === 0 && blocked === null && isWritten
  const merge = async () => {
    if (!isReady) return
    const request = { sessionId, how, ...(how === 'squash' ? { message } : {}) }
    const result = await review.run(() => client.review.merge.mutate(request))
    if (result === undefined) return
    if (result.kind === 'conflicts') return setFound(result.files)
    const done =
      how === 'rebase' ? `Rebased ${branch} on ${base}.` : `Merged ${branch} into ${base}${howWords(result)}.`
    onDone(result.kind === 'nothing' ? `Nothing to do: ${base} and ${branch} agree.` : done)
    onClose()
  }
  const hand = async () => {
    const handed = await review.run(() => client.review.resolve.mutate({ sessionId }))
    if (handed === undefined) return
    onDone(
      handed.files.length > 0
        ? `${base} was merged into ${branch}. The agent resolves ${plural(handed.files.length, 'file')}.`
        : `${base} was merged into ${branch} without conflicts.`,
    )
    onClose()
  }
  const words = {
    merge:
      behind === 0
        ? `${base} moves forward to this branch. No merge commit is needed.`
        : `A merge commit on ${base} joins both.`,
    squash: `One commit on ${base} with all changes; the commits of this branch stay here.`,
    rebase: `The commits of this branch are put on top of ${base}. ${base} itself does not change.`,
  }
  return (
    <Dialog title={`Merge into ${base}`} onClose={onClose}>
      <Form
        className="review-dialog"
        failure={review.failure}
        onSend={() => {
          if (!isStuck) void merge()
        }}
        foot={
          <>
            <Button look="quiet" onClick={onClose}>
              Cancel
            </Button>
            <Button
              type="submit"
              look={isStuck ? 'plain' : 'primary'}
              disabled={!isReady || isStuck}
              data-first={(uncommitted === 0 && !isStuck) || undefined}
            >
              {how === 'rebase' ? `Rebase on ${base}` : `Merge into ${base}`}
            </Button>
          </>
        }
      >
        <p>
          <code>{branch}</code>
          {` has ${plural(ahead, 'commit')} that ${base} does not have${behind > 0 ? `; ${base} has ${behind} that it does not have` : ''}.`}
        </p>
        {uncommitted > 0 ? (
          <p className="review-dialog__row" role="status">
            <span>{`${plural(uncommitted, 'file')} here ${uncommitted === 1 ? 'is' : 'are'} not committed. Commit or discard first.`}</span>
            <Button onClick={onCommit} data-first>
              Commit…
            </Button>
          </p>
        ) : null}
        <Segmented<How> label="How" value={how} segments={HOWS} onChange={setHow} />
        {blocked === null ? <p>{words[how]}</p> : <p role="status">{blocked}</p>}
        {how === 'squash' ? (
          <TextField label="Message" rows={6} isCode={true} value={message} onChange={setMessage} />
        ) : null}
        {conflicts.length > 0 ? (
          <>
            <FileNames title="These files conflict. Nothing was changed" files={conflicts} />
            <p className="review-dialog__row">
              <span>{`The agent can merge ${base} into its branch and resolve them, in its own folder.`}</span>
              <Button
                look={isStuck ? 'primary' : 'plain'}
                disabled={review.waits !== null || uncommitted > 0}
                data-first={(uncommitted === 0 && isStuck) || undefined}
                onClick={() => void hand()}
              >
                Hand to the agent
              </Button>
            </p>
          </>
        ) : null}
      </Form>
    </Dialog>
  )
}

function howWords(result: { kind: string; how?: string }): string {
  return result.how === 'fast-forward' ? ' (fast-forward)' : result.how === 'squash' ? ' as one commit' : ''
}

const MAX_NAMES = 200

function FileNames({ title, files }: { title: string; files: readonly string[] }) {
  const rest = files.length - MAX_NAMES
  return (
    <div className="review-dialog__files">
      <p>{`${title}:`}</p>
      <ul>
        {files.slice(0, MAX_NAMES).map(file => (
          <li key={file}>{file}</li>
        ))}
        {rest > 0 ? <li>{`and ${rest} more`}</li> : null}
      </ul>
    </div>
  )
}
