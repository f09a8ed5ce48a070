import { useEffect, useState } from 'react'
import { addToDraft } from '../../state/kept/drafts.ts'
import type { QueuedMessage, SessionStatus } from '../../state/server/answers.ts'
import { useClient, useConnection } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { useOutbox } from './outbox.ts'

/** Messages sent when the turn is over. Held after a failure until the user releases them. */
export function QueueList({ status }: { status: SessionStatus }) {
  const client = useClient()
  const { sessionId, queue, queueHeld } = status
  const [edit, setEdit] = useState<QueuedMessage | null>(null)
  // The agent does not wait for somebody who is still writing.
  const isGone = edit !== null && !queue.some(({ id }) => id === edit.id)
  useEffect(() => {
    if (edit === null || !isGone) return
    setEdit(null)
    addToDraft(sessionId, edit.message)
    toasts.info('The agent has that message already. What you made of it is in the field.')
  }, [isGone])
  if (queue.length === 0) return null
  const attempt = (action: Promise<unknown>) => {
    action.catch((error: unknown) => toasts.error(messageOf(error), sessionId))
  }
  const save = ({ id, message }: QueuedMessage) => {
    setEdit(null)
    const text = message.trim()
    if (text === '') return
    client.turns.queue.edit.mutate({ sessionId, id, message: text }).catch((error: unknown) => {
      addToDraft(sessionId, text)
      toasts.error(messageOf(error), sessionId)
    })
  }
  return (
    <section className="queue" aria-label="Queue">
      {queueHeld ? (
        <p className="queue__held">
          {heldBecause(status.lastTurn)}
          <Button size="small" onClick={() => attempt(client.turns.queue.release.mutate({ sessionId }))}>
            Go on
          </Button>
        </p>
      ) : null}
      <ol>
        {queue.map(message =>
          message.id === edit?.id ? (
            <Editing key={message.id} edit={edit} onChange={setEdit} onSave={save} />
          ) : (
            <li key={message.id} className="queue__item">
              <span className="truncate">{message.message}</span>
              <Button look="quiet" size="small" onClick={() => setEdit(message)}>
                Edit
              </Button>
              <IconButton
                icon="close"
                label="Remove from the queue"
                onClick={() => attempt(client.turns.queue.remove.mutate({ sessionId, id: message.id }))}
              />
            </li>
          ),
        )}
      </ol>
    </section>
  )
}

/** Messages sent into the turn that its agent has not taken yet. */
export function SteeredList({ steered }: Pick<SessionStatus, 'steered'>) {
  if (steered.length === 0) return null
  return (
    <section className="queue" aria-label="Sent to the agent">
      <p className="queue__wait" role="status">
        Sent. The agent reads it after its current step.
      </p>
      <ol>
        {steered.map(({ id, message }) => (
          <li key={id} className="queue__item">
            <span className="truncate">{message}</span>
          </li>
        ))}
      </ol>
    </section>
  )
}

function heldBecause(lastTurn: SessionStatus['lastTurn']): string {
  if (lastTurn === 'interrupted' || lastTurn === 'killed')
    return 'You stopped the turn, so these messages were not sent.'
  if (lastTurn === 'completed') return 'These messages were not sent.'
  return 'The last turn failed, so these messages were not sent.'
}

interface EditingProps {
  edit: QueuedMessage
  onChange(edit: QueuedMessage | null): void
  onSave(edit: QueuedMessage): void
}

function Editing({ edit, onChange, onSave }: EditingProps) {
  return (
    <li className="queue__item">
      <input
        className="input"
        aria-label="Queued message"
        value={edit.message}
        onChange={event => onChange({ ...edit, message: event.target.value })}
        onKeyDown={event => {
          if (event.nativeEvent.isComposing) return
          if (event.key === 'Enter') onSave(edit)
          if (event.key === 'Escape') onChange(null)
        }}
        // biome-ignore lint/a11y/noAutofocus: the person has just asked for this field
        autoFocus
      />
      <Button size="small" onClick={() => onSave(edit)}>
        Save
      </Button>
    </li>
  )
}

/** Most messages are there before anybody could read a word about it. */
const PATIENCE_MS = 500

/** Messages that the server has not confirmed yet. */
export function OutboxList({ sessionId }: { sessionId: string }) {
  const outbox = useOutbox(sessionId)
  const connection = useConnection()
  const [late, setLate] = useState(false)
  const isEmpty = outbox.length === 0
  useEffect(() => {
    if (isEmpty) return setLate(false)
    const timer = setTimeout(() => setLate(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [isEmpty])
  // What goes to the agent at once is in view from the click on, here and then as what the agent has not taken yet.
  if (isEmpty || !(late || outbox.some(({ how }) => how === 'steer'))) return null
  return (
    <section className="queue" aria-label="Not sent yet">
      <p className="queue__wait" role="status">
        {connection === 'offline' ? 'Waits for the server' : 'Sending'}
      </p>
      <ol>
        {outbox.map(({ text, message }, index) => (
          <li key={index} className="queue__item">
            <span className="truncate">{text || message.text}</span>
          </li>
        ))}
      </ol>
    </section>
  )
}
