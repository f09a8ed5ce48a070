import { asOf } from '@chirality/client/queries'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { SessionStatus } from '../../state/server/answers.ts'
import { useAskAgain, useClient } from '../../state/server/use-client.ts'
import { filePlace } from '../../state/server/work-place.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'

/** A worktree that is not there any more, and the way to have it again. Its session can be read meanwhile. */
export function WorktreeNotice({ status }: { status: SessionStatus }) {
  const { sessionId, projectRoot, worktree, turnId } = status
  const client = useClient()
  const askAgain = useAskAgain()
  const [busy, setBusy] = useState(false)
  const { data } = useQuery(
    asOf(
      client.worktrees.list.queryOptions(
        { project: projectRoot },
        { enabled: worktree !== undefined, staleTime: 0, refetchOnWindowFocus: true, retry: false },
      ),
      turnId,
    ),
  )
  if (worktree === undefined || data === undefined) return null
  const condition = data.find(({ id }) => id === worktree.id)?.condition ?? 'unknown'
  if (condition === 'ready') return null
  const restore = async () => {
    setBusy(true)
    try {
      await client.worktrees.restore.mutate({ id: worktree.id })
      const { files, review, worktrees } = client
      await askAgain(worktrees.list.queryFilter({ project: projectRoot }))
      await askAgain(
        files.diff.queryFilter(filePlace(status)),
        files.turnDiff.queryFilter({ sessionId }),
        review.branchDiff.queryFilter({ sessionId }),
      )
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
