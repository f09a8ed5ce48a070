import { CALLS } from '../contract/calls.ts'
import { backPlan, goBackTo, undoBack } from '../review/back-to-turn.ts'
import { pushPlan, pushWork } from '../review/push-work.ts'
import {
  branchDiff,
  changedFile,
  commitWork,
  discard,
  handConflicts,
  mergeWork,
  reviewState,
  undoMove,
} from '../review/session-review.ts'
import { call, router } from './trpc.ts'

/** What a session changed: taking it back, committing, merging, and going back before a turn. */
export const reviewRouter = router({
  /** Branch, base, what was taken back, and a message for a commit. Null without git. */
  state: call(CALLS.review.state).query(({ ctx, input }) => reviewState(ctx, input.sessionId)),

  /** All that the session's branch has and its base has not, committed or not. */
  branchDiff: call(CALLS.review.branchDiff).query(({ ctx, input }) => branchDiff(ctx, input.sessionId)),

  /** A changed file as it was, or as it became. */
  file: call(CALLS.review.file).query(({ ctx, input }) => changedFile(ctx, input)),

  /** Takes changes back in the work folder, whole files or single hunks. The agent is told with its next message. */
  discard: call(CALLS.review.discard).mutation(({ ctx, input }) => discard(ctx, input)),

  /** Brings back what was taken back. */
  undo: call(CALLS.review.undo).mutation(({ ctx, input }) => undoMove(ctx, { ...input, action: 'undo' })),

  redo: call(CALLS.review.redo).mutation(({ ctx, input }) => undoMove(ctx, { ...input, action: 'redo' })),

  commit: call(CALLS.review.commit).mutation(({ ctx, input }) => commitWork(ctx, input)),

  /** Into the base branch; `rebase` puts the session's branch on top of it instead. */
  merge: call(CALLS.review.merge).mutation(({ ctx, input }) => mergeWork(ctx, input)),

  /** Merges the base into the session's branch, and asks the agent to resolve the conflicts. */
  resolve: call(CALLS.review.resolve).mutation(({ ctx, input }) => handConflicts(ctx, input.sessionId)),

  /** What a push would do, as the remote says, and the pull request that could be opened. Nothing is sent. */
  pushPlan: call(CALLS.review.pushPlan).query(({ ctx, input }) => pushPlan(ctx, input)),

  /** Through the user's own git, and gh for a pull request. Never forces. */
  push: call(CALLS.review.push).mutation(({ ctx, input }) => pushWork(ctx, input)),

  /** What going back before a turn would do. Changes nothing. */
  backPlan: call(CALLS.review.backPlan).query(({ ctx, input }) => backPlan(ctx, input)),

  /** Files as they were before the turn, and a session whose conversation ends there. The old one is archived. */
  back: call(CALLS.review.back).mutation(({ ctx, input }) => goBackTo(ctx, input)),

  undoBack: call(CALLS.review.undoBack).mutation(({ ctx, input }) => undoBack(ctx, input)),
})
