import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { awayWords } from '../../app/project.ts'
import type { ReviewState, SessionStatus } from '../../state/server/answers.ts'
import { useAskAgain, useClient } from '../../state/server/use-client.ts'
import { filePlace } from '../../state/server/work-place.ts'
import { usePulse } from '../../state/session/pulse.ts'
import { useWorkDone } from '../../state/session/use-session.ts'
import { messageOf } from '../../ui/text/error-message.ts'

export interface Review {
  /** Undefined without git, and while it is not known. */
  state: ReviewState | undefined
  /** Why there is none, in the words of the server. */
  unread: string | null
  /** Why nothing can be done now; null when it can. */
  waits: string | null
  /** The machine that has the files cannot be reached. */
  isAway: boolean
  isBusy: boolean
  /** Why the last thing was refused, in the words of the server. */
  failure: string | null
  /** Does something, and reads again what changed by it. Resolves to undefined where it was refused. */
  run<T>(action: () => Promise<T>): Promise<T | undefined>
  forgetFailure(): void
}

/** Review of a session's changes, read once `isWanted`. */
export function useReview(status: SessionStatus, isWanted: boolean): Review {
  const { sessionId, phase } = status
  const away = awayWords(status.machine)
  const isRead = isWanted && away === null
  const client = useClient()
  const askAgain = useAskAgain()
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<string | null>(null)
  const { data, error, refetch } = useQuery(
    client.review.state.queryOptions(
      { sessionId },
      { staleTime: 0, gcTime: 0, retry: false, enabled: isRead },
    ),
  )
  const workDone = useWorkDone()
  const rests = phase === 'idle'
  usePulse(`${rests} ${workDone}`, () => (rests && isRead ? refetch() : Promise.resolve()))
  const run = async <T>(action: () => Promise<T>): Promise<T | undefined> => {
    if (isBusy) return undefined
    setBusy(true)
    setFailure(null)
    try {
      return await action()
    } catch (error) {
      setFailure(messageOf(error))
      return undefined
    } finally {
      const { files, review } = client
      const changed = [
        review.state.queryFilter({ sessionId }),
        review.branchDiff.queryFilter({ sessionId }),
        review.file.queryFilter({ sessionId }),
        files.turnDiff.queryFilter({ sessionId }),
        files.diff.queryFilter(filePlace(status)),
        files.blame.queryFilter(filePlace(status)),
      ]
      await askAgain(...changed)
      setBusy(false)
    }
  }
  const waits =
    away !== null
      ? `${away}: discard, commit, merge and push when it is back.`
      : !rests
        ? 'The agent is at work: discard, commit and merge when it rests.'
        : isBusy
          ? 'One moment.'
          : null
  const unread = away === null && error !== null && data === undefined ? messageOf(error) : null
  return {
    state: data ?? undefined,
    unread,
    waits,
    isAway: away !== null,
    isBusy,
    failure,
    run,
    forgetFailure: () => setFailure(null),
  }
}
