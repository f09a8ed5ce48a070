// Git for agents. Nothing that a repository names is run.

export {
  type BlamedLines,
  type BlameRequest,
  blameFile,
  type LineOrigin,
  MAX_BLAME_BYTES,
  type PastState,
  stateOfCommit,
} from './blame/blame-file.ts'
export type { UserCommit } from './blame/incremental.ts'
export { commitsOfTurns, NOTES_REF, type TurnLines, writeNotes } from './blame/notes.ts'
export type { TurnPoint } from './blame/turn-chain.ts'
export type { ChangedFile, Changes, FileChange, GitStatus, MovedSubmodule } from './git/changes.ts'
export { diffTrees, diffWorkTree, fileOfTree, type TreePair } from './git/diff-trees.ts'
export { findRepository } from './git/find-repository.ts'
export { type GitOptions, type GitRepository, git } from './git/git.ts'
export { gitStatus, parseStatus } from './git/git-status.ts'
export { movedSubmodules, submodulesOfTurn } from './git/moved-submodules.ts'
export { endPrograms } from './git/run-program.ts'
export {
  headTree,
  SNAPSHOT_LIMITS,
  type Snapshot,
  type SnapshotLimits,
  takeSnapshot,
  trimSnapshots,
} from './git/snapshot.ts'
export { UNFINISHED } from './git/unfinished.ts'
export {
  findOverlaps,
  type LineRange,
  type Overlap,
  type OverlappingFile,
  type SessionWork,
} from './radar/conflict-radar.ts'
export { type Commit, type CommitRequest, commitFiles, commitHooks } from './review/commit.ts'
export { type Discard, type DiscardedFile, discardChanges, type HunkChoice } from './review/discard.ts'
export {
  type FileMove,
  FileMoves,
  forScope,
  type MoveCause,
  type Settle,
  unfinishedMoves,
} from './review/file-moves.ts'
export {
  type Branches,
  type BranchState,
  branchState,
  commitAtBase,
  type MergeHow,
  type MergeResult,
  mergeIntoBase,
  rebaseOnBase,
  takeConflicts,
  treeAtBase,
} from './review/merge.ts'
export {
  type Forge,
  forgeOf,
  type OpenedPullRequest,
  openPullRequest,
  type PullRequest,
  pullRequestCommand,
  requestWords,
} from './review/pull-request.ts'
export {
  isKnownPushed,
  type Pushed,
  type PushPlan,
  planPush,
  pushBranch,
  remoteOf,
  remotesOf,
  urlOf,
} from './review/push.ts'
export { type Filled, fillVariables, fillWorktree } from './setup/fill-worktree.ts'
export {
  parseSetup,
  readWorkspaceFile,
  WORKSPACE_FILE,
  type WorkspaceFile,
  type WorkspaceSetup,
} from './setup/workspace-file.ts'
export {
  type BackPlan,
  type BackTo,
  filesOfTurns,
  goBack,
  planBack,
  type TurnTreePair,
} from './undo/back-to.ts'
export type { WorkspaceErrorCode } from './workspace-error.ts'
export {
  type CarriedWork,
  commonCommits,
  keepOrphan,
  type PackWork,
  packWork,
  type ReceivedWork,
  type RepositoryMark,
  repositoryMark,
} from './worktrees/carried-work.ts'
export { type Base, checkBase, listBranches } from './worktrees/check-base.ts'
export { diskUse } from './worktrees/disk-use.ts'
export type { KeptWork, SetupRecord, Worktree } from './worktrees/worktree-records.ts'
export {
  type ListedWorktree,
  type MadeWorktree,
  type NewWorktree,
  projectOf,
  setupMarker,
  type WorktreeCondition,
  Worktrees,
} from './worktrees/worktrees.ts'
