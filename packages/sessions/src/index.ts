export {
  type FileOps,
  OPEN,
  openRegular,
  realFileOps,
  StorageError,
  type StorageErrorCode,
  sweepTemporaries,
  temporaryName,
  toStorageError,
} from '@chirality/disk'
export {
  BudgetBook,
  type BudgetBookOptions,
  type BudgetReading,
  type Spending,
} from './budget/budget-book.ts'
export type { BudgetState } from './budget/budget-state.ts'
export {
  ageText,
  type FindElsewhere,
  type ProjectSpending,
  type SpentElsewhere,
} from './budget/spent-elsewhere.ts'
export { readPrices } from './budget/user-prices.ts'
export type {
  AskContext,
  DecisionErrorCode,
  PendingDecision,
  PolicyGuard,
  PolicyJudge,
  PolicyVerdict,
} from './decisions/ask-context.ts'
export type { ProblemListener } from './decisions/decision-broker.ts'
export { DecisionBroker, type DecisionBrokerOptions } from './decisions/decision-broker.ts'
export { PolicyBook, type PolicyBookOptions, type PolicyPlaces } from './decisions/policy/policy-book.ts'
export {
  ignoredRules,
  type PolicyProblem,
  type PolicySource,
  type PolicySourceKind,
  problemLines,
} from './decisions/policy/policy-source.ts'
export {
  type PastAnswer,
  type RehearsedRequest,
  type RehearseOptions,
  rehearsePolicy,
} from './decisions/rehearse.ts'
export { findProjectFolder } from './files/project-folder.ts'
export { userDataFolder } from './files/user-data-folder.ts'
export { HarnessLog, type HarnessLogOptions } from './harness-log/harness-log.ts'
export { createRedactor, REDACTED, type Redactor } from './harness-log/redact.ts'
export type { HarnessLogRow, LogEntry, LogLevel } from './harness-log/rows.ts'
export {
  EXPORT_FORMATS,
  type ExportFormat,
  type ExportOptions,
  exportSession,
} from './history/export/export-session.ts'
export {
  ImportError,
  type ImportErrorCode,
  importExport,
  importNative,
  parseExport,
} from './history/import/import-session.ts'
export type { SearchHit } from './history/search/search-log.ts'
export {
  type SearchErrorCode,
  type SearchOptions,
  type SearchResult,
  searchSessions,
} from './history/search/search-sessions.ts'
export type { HitKind } from './history/search/searchable-text.ts'
export type { Cut, PackOptions, Parcel } from './host/carry-session.ts'
export type { NewSession, SessionHostOptions } from './host/host-options.ts'
export type { ProjectReport } from './host/recover-project.ts'
export { SessionHost } from './host/session-host.ts'
export type { SessionMoves, Spent } from './host/session-moves.ts'
export type { ProjectOwner } from './lock/lock-owner.ts'
export {
  findProjectOwner,
  type LockOptions,
  lockProject,
  type ProjectLock,
  ProjectLockedError,
} from './lock/project-lock.ts'
export type { TornLine } from './log/envelope-line.ts'
export { type EventText, joinTexts } from './log/event-text.ts'
export type { LogHealth } from './log/file/log-writer.ts'
export { openSessionLog, removeSessionLog } from './log/open-logs.ts'
export { readSessionLog, type SessionLogReader } from './log/read-log.ts'
export type { AppendOptions, ReadOptions, SessionLog, SessionLogOptions } from './log/session-log.ts'
export type { MessageQueue, MessageQueueOptions } from './queue/message-queue.ts'
export type { QueueState } from './queue/queue-file.ts'
export type { GivenMessage, QueuedMessage, QueuedRequest, QueueErrorCode } from './queue/queued-message.ts'
export type { TurnRequest } from './queue/turn-request.ts'
export { requireRest } from './review/at-rest.ts'
export {
  backPlan,
  type GoneBack,
  goBackTo,
  type ShownBackPlan,
  undoBack,
} from './review/back-to-turn.ts'
export { type SettlePushOptions, settlePushes } from './review/begun-pushes.ts'
export {
  inBlamePlace,
  inRadar,
  type OpenedPlace,
  openBlamePlace,
  openRadar,
  type ProjectPlace,
} from './review/blame-place.ts'
export { forkInWorktree } from './review/fork-worktree.ts'
export {
  type PushInput,
  type PushResult,
  type PushWorkInput,
  pushPlan,
  pushWork,
  type RequestPlan,
  type ShownPushPlan,
} from './review/push-work.ts'
export { type ReviewHost, workFolderOf } from './review/review-host.ts'
export {
  branchDiff,
  type ChangedFileInput,
  type CommitInput,
  changedFile,
  commitWork,
  type DiscardInput,
  discard,
  handConflicts,
  type MergeInput,
  mergeWork,
  type ReviewState,
  requireBranches,
  reviewState,
  undoMove,
} from './review/session-review.ts'
export { type TurnDiff, turnDiff } from './review/turn-diff.ts'
export type { SessionsErrorCode, StartErrorCode } from './session-errors.ts'
export { type RawLogRule, readRawLogRule, writeRawLogRule } from './spools/raw-log-rule.ts'
export { type DiskUse, diskUseOf, type RawLog } from './spools/raw-logs.ts'
export {
  type NativeLine,
  type NativeLineOptions,
  type NativeLinesOptions,
  type NativePage,
  type NativeText,
  readNativeLine,
  readNativeLines,
} from './spools/read-native-lines.ts'
export type {
  AgentNote,
  LiveSession,
  QueuedTurn,
  SessionBudget,
  SessionChanges,
  StartedTurn,
} from './status/live-session.ts'
export type { SessionStatus, SessionWorktree } from './status/session-status.ts'
export type { TurnPhase } from './status/turn-phase.ts'
export type { ChosenFields } from './store/fold-session.ts'
export { SessionFold } from './store/fold-session.ts'
export {
  type ClaudeSessionState,
  claudeSessionFile,
  noteClaudeSession,
  type StateFile,
} from './store/project-state.ts'
export type { SessionSettings } from './store/session-settings.ts'
export {
  type CreateOptions,
  type ForkOptions,
  type PageOptions,
  type SessionPage,
  SessionStore,
  type SessionStoreOptions,
} from './store/session-store.ts'
export type {
  ForkHistory,
  ForkOrigin,
  SessionProgress,
  Shelf,
  StoredSession,
} from './store/stored-session.ts'
export { type TurnImage, TurnImages } from './store/turn-images.ts'
export type { OwnPlace } from './tool-servers/tool-server-book.ts'
export {
  ToolServerBook,
  type ToolServerEntry,
  type ToolServerPlace,
  type ToolServerSource,
} from './tool-servers/tool-server-book.ts'
export { CageSettings } from './trust/cage-settings.ts'
export type { OwnSetup, OwnSetups } from './trust/own-setups.ts'
export {
  consentNotice,
  PersonaConsent,
  type PersonaWithConsent,
  withoutGrants,
} from './trust/persona-consent.ts'
export { ProjectTrust, type ProjectTrustState } from './trust/project-trust.ts'
export { fingerprintOf, TrustStore, type TrustStoreOptions } from './trust/trust-store.ts'
export { type FolderIsSetUp, type FolderSetUp, setUpFolder } from './turns/folder-set-up.ts'
export type { Orphan } from './turns/leaving-sessions.ts'
export { isRefusal, type Move, REFUSAL } from './turns/leaving-sessions.ts'
export { RunBudgets, type RunBudgetsOptions } from './turns/run-budgets.ts'
export { allowWorkspaceSetup } from './turns/set-up-worktree.ts'
export type { Sessions } from './usage/usage-report.ts'
export {
  type PlanReport,
  type UsageAmount,
  type UsageOfSession,
  type UsageOptions,
  type UsageReport,
  type UsageRow,
  usageReport,
} from './usage/usage-report.ts'
