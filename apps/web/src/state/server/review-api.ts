import type { AppRouter, CallInputs, CallOutputs } from '@chirality/server'
import type { TRPCClient } from '@trpc/client'

export type ReviewState = NonNullable<CallOutputs['review']['state']>
export type FileMove = ReviewState['moves'][number]
export type DiscardRequest = CallInputs['review']['discard']
export type CommitRequest = CallInputs['review']['commit']
export type MergeRequest = CallInputs['review']['merge']
export type MergeResult = CallOutputs['review']['merge']
export type ChangedFileRequest = CallInputs['review']['file']
export type FileOfTree = CallOutputs['review']['file']
export type PushPlan = CallOutputs['review']['pushPlan']
export type PushRequest = CallInputs['review']['push']
export type PushResult = CallOutputs['review']['push']
export type BackPlan = CallOutputs['review']['backPlan']

/** The calls about what a session changed. */
export interface ReviewApi {
  /** Null without git. */
  reviewState(sessionId: string): Promise<ReviewState | null>
  /** All that the session's branch has and its base has not. Null without such a branch. */
  branchDiff(sessionId: string): Promise<CallOutputs['review']['branchDiff']>
  /** Null if there is no such file on this side. */
  changedFile(request: ChangedFileRequest): Promise<FileOfTree>
  discardChanges(request: DiscardRequest): Promise<FileMove>
  undoMove(sessionId: string, id: string): Promise<FileMove>
  redoMove(sessionId: string, id: string): Promise<FileMove>
  commitChanges(request: CommitRequest): Promise<CallOutputs['review']['commit']>
  mergeBranch(request: MergeRequest): Promise<MergeResult>
  /** Merges the base into the branch, and asks the agent to resolve what conflicts. */
  resolveConflicts(sessionId: string): Promise<{ files: string[] }>
  /** Asks the remote; nothing is sent. */
  pushPlan(sessionId: string, remote: string | undefined): Promise<PushPlan>
  pushBranch(request: PushRequest): Promise<PushResult>
  backPlan(sessionId: string, turnId: string): Promise<BackPlan>
  goBack(sessionId: string, turnId: string, overwrite: string[]): Promise<WentBack>
  /** `sessionId` is the session that going back made, `from` the one before. */
  undoBack(sessionId: string, from: string, moveId: string | null): Promise<void>
}

export interface WentBack {
  sessionId: string
  moveId: string | null
  prompt: string
  /** Files that somebody else changed meanwhile: they did not go back. */
  left: string[]
}

export function reviewCalls({ review }: TRPCClient<AppRouter>): ReviewApi {
  return {
    reviewState: sessionId => review.state.query({ sessionId }),
    branchDiff: sessionId => review.branchDiff.query({ sessionId }),
    changedFile: request => review.file.query(request),
    discardChanges: request => review.discard.mutate(request),
    undoMove: (sessionId, id) => review.undo.mutate({ sessionId, id }),
    redoMove: (sessionId, id) => review.redo.mutate({ sessionId, id }),
    commitChanges: request => review.commit.mutate(request),
    mergeBranch: request => review.merge.mutate(request),
    resolveConflicts: sessionId => review.resolve.mutate({ sessionId }),
    pushPlan: (sessionId, remote) =>
      review.pushPlan.query({ sessionId, ...(remote === undefined ? {} : { remote }) }),
    pushBranch: request => review.push.mutate(request),
    backPlan: (sessionId, turnId) => review.backPlan.query({ sessionId, turnId }),
    goBack: async (sessionId, turnId, overwrite) => {
      const { session, ...gone } = await review.back.mutate({ sessionId, turnId, overwrite })
      return { sessionId: session.id, ...gone }
    },
    undoBack: async (sessionId, from, moveId) =>
      void (await review.undoBack.mutate({ sessionId, from, moveId })),
  }
}
