import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { saveWayBack, useWayBack } from '../../state/kept/went-back.ts'
import { useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'

/** In a session that going back made: the way to undo that. */
export function WentBackNotice({ sessionId }: { sessionId: string }) {
  const client = useClient()
  const navigate = useNavigate()
  const [busy, setBusy] = useState(false)
  const way = useWayBack(sessionId)
  if (way === undefined) return null
  const undo = async () => {
    setBusy(true)
    try {
      await client.review.undoBack.mutate({ sessionId, from: way.from, moveId: way.moveId })
      saveWayBack(sessionId, null)
      await navigate({ to: '/s/$sessionId', params: { sessionId: way.from } })
    } catch (error) {
      toasts.error(messageOf(error), sessionId)
    } finally {
      setBusy(false)
    }
  }
  const words = way.prompt.replace(/\s+/g, ' ').trim()
  return (
    <p className="trust trust--unused" role="status">
      <span>{`You went back to before “${words.length > MAX_CHARS ? `${words.slice(0, MAX_CHARS)}…` : words}”.`}</span>
      <Button size="small" disabled={busy} onClick={() => void undo()}>
        {busy ? 'Undoing…' : 'Undo going back'}
      </Button>
      <IconButton icon="close" label="Keep it so" onClick={() => saveWayBack(sessionId, null)} />
    </p>
  )
}

const MAX_CHARS = 80
