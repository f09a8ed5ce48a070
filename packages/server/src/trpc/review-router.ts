import {
  backPlan,
  branchDiff,
  changedFile,
  commitWork,
  discard,
  goBackTo,
  handConflicts,
  type LiveSession,
  mergeWork,
  pushPlan,
  pushWork,
  type ReviewHost,
  reviewState,
  undoBack,
  undoMove,
} from '@chirality/sessions'
import type { z } from 'zod'
import { CALLS } from '../contract/calls.ts'
import { shownContent } from '../files/read-file.ts'
import type { AppServices } from './context.ts'
import { liveSession, storedSession } from './live-session.ts'
import { call, router } from './trpc.ts'

/** A call of the sessions package for a session of a registered project. */
function inSession<I, T>(
  run: (host: ReviewHost, session: LiveSession, input: I) => Promise<T>,
): (call: { ctx: AppServices; input: I & { sessionId: string } }) => Promise<T> {
  return async ({ ctx, input }) => run(ctx.host, await liveSession(ctx, input.sessionId), input)
}

/** What a session changed: taking it back, committing, merging, and going back before a turn. */
export const reviewRouter = router({
  /** Branch, base, what was taken back, and a message for a commit. Null without git. */
  state: call(CALLS.review.state).query(inSession(reviewState)),

  /** All that the session's branch has and its base has not, committed or not. */
  branchDiff: call(CALLS.review.branchDiff).query(inSession(branchDiff)),

  /** A changed file as it was, or as it became. */
  file: call(CALLS.review.file).query(
    inSession(async (host, session, input: ChangedFile) => {
      const found = await changedFile(host, session, input)
      return found === undefined ? null : shownContent(input.path, found)
    }),
  ),

  /** Takes changes back in the work folder, whole files or single hunks. The agent is told with its next message. */
  discard: call(CALLS.review.discard).mutation(inSession(discard)),

  /** Brings back what was taken back. */
  undo: call(CALLS.review.undo).mutation(
    inSession((host, session, { id }: MoveOfSession) => undoMove(host, session, { id, action: 'undo' })),
  ),

  redo: call(CALLS.review.redo).mutation(
    inSession((host, session, { id }: MoveOfSession) => undoMove(host, session, { id, action: 'redo' })),
  ),

  commit: call(CALLS.review.commit).mutation(inSession(commitWork)),

  /** Into the base branch; `rebase` puts the session's branch on top of it instead. */
  merge: call(CALLS.review.merge).mutation(inSession(mergeWork)),

  /** Merges the base into the session's branch, and asks the agent to resolve the conflicts. */
  resolve: call(CALLS.review.resolve).mutation(inSession(handConflicts)),

  /** What a push would do, as the remote says, and the pull request that could be opened. Nothing is sent. */
  pushPlan: call(CALLS.review.pushPlan).query(inSession(pushPlan)),

  /** Through the user's own git, and gh for a pull request. Never forces. */
  push: call(CALLS.review.push).mutation(inSession(pushWork)),

  /** What going back before a turn would do. Changes nothing. */
  backPlan: call(CALLS.review.backPlan).query(
    inSession((host, session, { turnId }: TurnOfSession) => backPlan(host, session, turnId)),
  ),

  /** Files as they were before the turn, and a session whose conversation ends there. The old one is archived. */
  back: call(CALLS.review.back).mutation(inSession(goBackTo)),

  undoBack: call(CALLS.review.undoBack).mutation(async ({ ctx, input }) => {
    await storedSession(ctx, input.sessionId)
    return undoBack(ctx.host, await liveSession(ctx, input.from), input)
  }),
})

type ChangedFile = z.infer<typeof CALLS.review.file.input>
type MoveOfSession = z.infer<typeof CALLS.review.undo.input>
type TurnOfSession = z.infer<typeof CALLS.review.backPlan.input>
