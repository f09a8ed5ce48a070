import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { SessionStatus } from '../../state/server/server-api.ts'
import { useApi } from '../../state/server/use-api.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'

/** A worktree that is not there any more, and the way to have it again. Its session can be read meanwhile. */
export function WorktreeNotice({ status }: { status: SessionStatus }) {
  const { sessionId, projectRoot, worktree, turnId } = status
  const api = useApi()
  const queries = useQueryClient()
  const [busy, setBusy] = useState(false)
  const { data } = useQuery({
    // Somebody may remove it by hand at any time: asked again with each turn, and when the window is looked at.
    queryKey: ['worktrees', projectRoot, turnId],
    queryFn: () => api.worktrees(projectRoot),
    enabled: worktree !== undefined,
    staleTime: 0,
    refetchOnWindowFocus: true,
    retry: false,
  })
  if (worktree === undefined || data === undefined) return null
  const condition = data.find(({ id }) => id === worktree.id)?.condition ?? 'unknown'
  if (condition === 'ready') return null
  const restore = async () => {
    setBusy(true)
    try {
      await api.restoreWorktree(worktree.id)
      await queries.invalidateQueries({ queryKey: ['worktrees', projectRoot] })
      await queries.invalidateQueries({ queryKey: ['diff', sessionId] })
    } catch (error) {
      toasts.error(messageOf(error), sessionId)
    } finally {
      setBusy(false)
    }
  }
  return (
    <p className="trust trust--unused" role="status">
      <span>{WORDS[condition]}</span>
      {condition === 'missing' || condition === 'removed' ? (
        <Button size="small" disabled={busy} onClick={() => void restore()}>
          {busy ? 'Restoring…' : 'Restore'}
        </Button>
      ) : null}
    </p>
  )
}

const WORDS = {
  missing:
    'The folder of this session’s worktree is gone. Its commits are still on the branch; what was not committed is not.',
  removed: 'The worktree of this session was removed. Its commits and files are kept.',
  orphaned: 'The repository of this session’s worktree is not there any more.',
  unknown: 'This session worked in a worktree that is not known here.',
} as const
