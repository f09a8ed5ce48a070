import { useState } from 'react'
import type { QueuedMessage, SessionStatus } from '../../state/server-api.ts'
import { useApi } from '../../state/use-api.ts'
import { Button } from '../../ui/Button.tsx'
import { messageOf } from '../../ui/error-message.ts'
import { IconButton } from '../../ui/IconButton.tsx'
import { toasts } from '../../ui/toast-store.ts'

/** What is sent when the turn is over. Held after a failure until somebody says to go on. */
export function QueueList({ status }: { status: SessionStatus }) {
  const api = useApi()
  const { sessionId, queue, queueHeld } = status
  if (queue.length === 0) return null
  return (
    <section className="queue" aria-label="Queue">
      {queueHeld ? (
        <p className="queue__held">
          The queue is held, because the last turn did not end well.
          <Button size="small" onClick={() => attempt(api.queueRelease(sessionId))}>
            Go on
          </Button>
        </p>
      ) : null}
      <ol>
        {queue.map(message => (
          <Queued key={message.id} sessionId={sessionId} message={message} />
        ))}
      </ol>
    </section>
  )
}

function Queued({ sessionId, message }: { sessionId: string; message: QueuedMessage }) {
  const api = useApi()
  const [draft, setDraft] = useState<string | null>(null)
  if (draft === null) {
    return (
      <li className="queue__item">
        <span className="truncate">{message.message}</span>
        <Button look="quiet" size="small" onClick={() => setDraft(message.message)}>
          Edit
        </Button>
        <IconButton
          icon="close"
          label="Remove from the queue"
          onClick={() => attempt(api.queueRemove(sessionId, message.id))}
        />
      </li>
    )
  }
  const save = () => {
    setDraft(null)
    if (draft.trim() !== '') attempt(api.queueEdit(sessionId, message.id, draft.trim()))
  }
  return (
    <li className="queue__item">
      <input
        className="input"
        aria-label="Queued message"
        value={draft}
        onChange={event => setDraft(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Enter') save()
          if (event.key === 'Escape') setDraft(null)
        }}
        // biome-ignore lint/a11y/noAutofocus: the person has just asked for this field
        autoFocus
      />
      <Button size="small" onClick={save}>
        Save
      </Button>
    </li>
  )
}

function attempt(action: Promise<unknown>): void {
  action.catch((error: unknown) => toasts.error(messageOf(error)))
}
