import { useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import { sessionTitle } from '../../panes/sidebar/session-title.ts'
import { useFleet, useStatus } from '../../state/fleet/use-fleet.ts'

/** The tab says how many wait, so that it can be seen from another one. */
export function useTitle(): void {
  const { sessionId } = useParams({ strict: false })
  const status = useStatus(sessionId ?? '')
  const waiting = useFleet().reduce((sum, { pending }) => sum + pending.length, 0)
  const title = `${waiting > 0 ? `(${waiting}) ` : ''}${status ? `${sessionTitle(status)} · ` : ''}Chirality`
  useEffect(() => {
    document.title = title
  }, [title])
}
