// Git for agents: runs nothing that a repository names.

export {
  type BlamedLines,
  type BlameRequest,
  blameFile,
  type LineOrigin,
  MAX_BLAME_BYTES,
  type PastState,
  stateOfCommit,
} from './blame/blame-file.ts'
export {
  type Blame,
  type BlamedTurn,
  type BlamePlace,
  blameProjectFile,
  noteCommits,
  type SessionOfPlace,
  type TurnFacts,
  turnName,
} from './blame/blame-place.ts'
export type { UserCommit } from './blame/incremental.ts'
export type { CommitOfTurns, CommitsRequest } from './blame/notes.ts'
export { commitsOfTurns, NOTES_REF, type TurnLines, writeNotes } from './blame/notes.ts'
export type { TurnPoint } from './blame/turn-chain.ts'
export { confine, HIDDEN_FOLDERS, requireStillInside, toFileError } from './files/confine.ts'
export type { ChangedFile, Changes, FileChange, GitStatus, MovedSubmodule } from './git/changes.ts'
export { diffTrees, diffWorkTree, fileOfTree, type TreePair } from './git/diff-trees.ts'
export { findRepository } from './git/find-repository.ts'
export type { GitSetting, OpenedRepository } from './git/git.ts'
export { type GitOptions, type GitRepository, git, OWN_IDENTITY } from './git/git.ts'
export { gitStatus, parseStatus } from './git/git-status.ts'
export type { MovedInTurn } from './git/moved-submodules.ts'
export { movedSubmodules, submodulesOfTurn } from './git/moved-submodules.ts'
export { overNested, stageFiles } from './git/nested-repositories.ts'
export { unquotedPath } from './git/quoted-path.ts'
export { endPrograms } from './git/run-program.ts'
export {
  headTree,
  SNAPSHOT_LIMITS,
  type Snapshot,
  type SnapshotLimits,
  takeSnapshot,
  trimSnapshots,
} from './git/snapshot.ts'
export type { Unfinished } from './git/unfinished.ts'
export { UNFINISHED } from './git/unfinished.ts'
export {
  findOverlaps,
  type LineRange,
  type Overlap,
  type OverlappingFile,
  type SessionWork,
} from './radar/conflict-radar.ts'
export {
  type RadarPlace,
  type RadarSession,
  type SessionOverlap,
  sessionOverlaps,
} from './radar/session-overlaps.ts'
export { type Commit, type CommitRequest, commitFiles, commitHooks } from './review/commit.ts'
export type { Differing } from './review/differing.ts'
export { type Discard, type DiscardedFile, discardChanges, type HunkChoice } from './review/discard.ts'
export type { SeenFile, TreeFile } from './review/disk-files.ts'
export type { NewMove } from './review/file-moves.ts'
export {
  type FileMove,
  FileMoves,
  type Settle,
} from './review/file-moves.ts'
export type { MergeRequest } from './review/merge.ts'
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
export type { MoveCause } from './review/move-commit.ts'
export {
  type Forge,
  forgeOf,
  type OpenedPullRequest,
  openPullRequest,
  type PullRequest,
  pullRequestCommand,
  requestName,
} from './review/pull-request.ts'
export type { PushRequest } from './review/push.ts'
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
export { forScope, unfinishedMoves } from './review/unfinished-moves.ts'
export type { FillOptions } from './setup/fill-worktree.ts'
export { type Filled, fillVariables, fillWorktree } from './setup/fill-worktree.ts'
export {
  parseSetup,
  readWorkspaceFile,
  WORKSPACE_FILE,
  type WorkspaceFile,
  type WorkspaceSetup,
} from './setup/workspace-file.ts'
export {
  type EndingTurn,
  type ProjectFolder,
  type SessionFolder,
  type StartingTurn,
  stateFolderOf,
  TurnChanges,
  type TurnChangesOptions,
  type WorkPlace,
} from './turns/turn-changes.ts'
export { type TreeOfTurn, type TreesOfTurn, TurnTrees } from './turns/turn-trees.ts'
export type { GoBack } from './undo/back-to.ts'
export {
  type BackPlan,
  type BackTo,
  filesOfTurns,
  goBack,
  planBack,
  type TurnTreePair,
} from './undo/back-to.ts'
export { type WorkspaceErrorCode, workspaceError } from './workspace-error.ts'
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
export { type Base, checkBase, listBranches, slugOf } from './worktrees/check-base.ts'
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
