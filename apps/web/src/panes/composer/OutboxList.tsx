import { useEffect, useState } from 'react'
import { useConnection } from '../../state/server/use-api.ts'
import { useOutbox } from './outbox.ts'

/** Most messages are there before anybody could read a word about it. */
const PATIENCE_MS = 500

/** What has left the field and is not with the server yet. */
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
