import type { CallOutputs } from '@chirality/client'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { CheckField, Form, TextField } from '../../ui/controls/Form.tsx'
import { Segmented } from '../../ui/controls/Segmented.tsx'
import { SelectField } from '../../ui/controls/SelectField.tsx'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { plural } from '../../ui/text/format.ts'
import type { Review } from './use-review.ts'

type PushPlan = CallOutputs['review']['pushPlan']
type PushResult = CallOutputs['review']['push']

interface PushDialogProps {
  sessionId: string
  review: Review
  onClose(): void
  /** Called with the outcome in one line, and the address of a pull request. */
  onDone(said: string, link?: string): void
}

/** Plan of a push as the remote answers, before anything is sent. */
export default function PushDialog({ sessionId, review, onClose, onDone }: PushDialogProps) {
  const client = useClient()
  const [remote, setRemote] = useState<string>()
  const { data: plan, error } = useQuery(
    client.review.pushPlan.queryOptions({ sessionId, remote }, { staleTime: 0, gcTime: 0, retry: false }),
  )
  return (
    <Dialog title="Push" onClose={onClose}>
      {plan === undefined ? (
        <div className="form review-dialog">
          {error === null ? (
            <p role="status">Asking the remote what it has…</p>
          ) : (
            <p className="form__bad" role="alert">
              {messageOf(error)}
            </p>
          )}
          <div className="form__foot">
            <Button look="quiet" onClick={onClose}>
              Close
            </Button>
          </div>
        </div>
      ) : (
        // Another remote is another plan.
        <PlannedPush
          key={plan.remote}
          {...{ sessionId, review, plan, onClose, onDone }}
          onRemote={setRemote}
        />
      )}
    </Dialog>
  )
}

type PlannedProps = PushDialogProps & { plan: PushPlan; onRemote(remote: string): void }

function PlannedPush({ sessionId, review, plan, onRemote, onClose, onDone }: PlannedProps) {
  const client = useClient()
  const { remote, url, branch, commit, kind, commits, total, uncommitted, hooks, command } = plan
  const request = plan.pullRequest
  const [withHooks, setWithHooks] = useState(false)
  const [withRequest, setWithRequest] = useState(false)
  const [into, setInto] = useState(request.can ? (request.into[0]?.repository ?? '') : '')
  const words = request.can ? REQUEST_WORDS[request.program] : ''
  const [title, setTitle] = useState(request.can ? request.title : '')
  const [body, setBody] = useState(request.can ? request.body : '')
  const isReady = withRequest ? title.trim() !== '' : kind !== 'up-to-date'
  const first = useRef<HTMLButtonElement>(null)
  // The dialog was open before there was anything to push.
  useEffect(() => first.current?.focus(), [])
  const push = async () => {
    if (!isReady) return
    const result = await review.run(() =>
      client.review.push.mutate({
        ...{ sessionId, remote, commit, url, hooks: withHooks },
        ...(withRequest ? { pullRequest: { title, body, into } } : {}),
      }),
    )
    if (result === undefined) return
    onDone(saidOf(result, words), result.pullRequest?.kind === 'opened' ? result.pullRequest.url : undefined)
    onClose()
  }
  return (
    <Form
      className="review-dialog"
      failure={review.failure}
      onSend={() => void push()}
      foot={
        <>
          <Button look="quiet" onClick={onClose} ref={isReady ? undefined : first}>
            Cancel
          </Button>
          <Button
            type="submit"
            look="primary"
            disabled={!isReady || review.isBusy}
            ref={isReady ? first : undefined}
          >
            {withRequest ? 'Push and open' : 'Push'} <Kbd>Ctrl Enter</Kbd>
          </Button>
        </>
      }
    >
      {plan.remotes.length > 1 ? (
        <Segmented
          label="Remote"
          value={remote}
          segments={plan.remotes.map(name => ({ value: name, label: name }))}
          onChange={onRemote}
        />
      ) : null}
      <p>
        <code>{branch}</code>
        {` to ${remote}, `}
        <code>{url}</code>
        {`: ${WORDS[kind]}`}
      </p>
      {commits.length > 0 ? (
        <div className="review-dialog__files">
          <p>{`${plural(total, 'commit')}:`}</p>
          <ul>
            {commits.map(one => (
              <li key={one.commit}>{`${one.commit.slice(0, 9)} ${one.subject}`}</li>
            ))}
            {total > commits.length ? <li>{`and ${total - commits.length} more`}</li> : null}
          </ul>
        </div>
      ) : null}
      {uncommitted > 0 ? (
        <p role="status">{`${plural(uncommitted, 'changed file')} here ${uncommitted === 1 ? 'is' : 'are'} in no commit, and not pushed.`}</p>
      ) : null}
      <p className="review-dialog__files">
        <code>{command}</code>
      </p>
      {hooks.length > 0 ? (
        <CheckField
          label={`Run the hooks of the repository: ${hooks.join(', ')}`}
          isOn={withHooks}
          onChange={setWithHooks}
        />
      ) : null}
      {request.can ? (
        <CheckField
          label={`Open a ${words}, by your own ${request.program}`}
          isOn={withRequest}
          onChange={setWithRequest}
        />
      ) : (
        <p>{`No pull request from here. ${request.reason}`}</p>
      )}
      {request.can && withRequest ? (
        <>
          {request.into.length > 1 ? (
            <SelectField
              label="Into"
              value={into}
              options={request.into.map(({ repository }) => ({ value: repository, label: repository }))}
              onChange={setInto}
            />
          ) : null}
          <TextField
            label="Title"
            hint="Proposed from the conversation, without asking a model."
            {...{ value: title, maxLength: 250, onChange: setTitle }}
          />
          <TextField
            label="Text"
            {...{ value: body, rows: 6, isCode: true, maxLength: 60_000, onChange: setBody }}
          />
          <p className="review-dialog__files">
            <code>{request.into.find(({ repository }) => repository === into)?.command}</code>
          </p>
        </>
      ) : null}
    </Form>
  )
}

const WORDS = {
  new: 'the remote does not have this branch yet.',
  forward: 'the branch there moves forward.',
  'up-to-date': 'the remote has it all. There is nothing to push.',
} satisfies Record<PushPlan['kind'], string>

const REQUEST_WORDS = { gh: 'pull request', glab: 'merge request' } as const

function saidOf({ branch, remote, kind, pullRequest }: PushResult, words: string): string {
  const pushed = kind === 'up-to-date' ? `${remote} had it all.` : `Pushed ${branch} to ${remote}.`
  if (pullRequest === null) return pushed
  return pullRequest.kind === 'opened'
    ? `${pushed} The ${words} is open.`
    : `${pushed} No ${words}: ${pullRequest.reason}`
}
