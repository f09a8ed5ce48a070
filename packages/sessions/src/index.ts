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
export { sweepTemporaries, temporaryName } from './files/atomic-write.ts'
export { type FileOps, realFileOps } from './files/file-ops.ts'
export { findProjectFolder } from './files/project-folder.ts'
export { OPEN, openRegular } from './files/read-write.ts'
export { StorageError, type StorageErrorCode, toStorageError } from './files/storage-error.ts'
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
export type {
  AgentNote,
  LiveSession,
  QueuedTurn,
  SessionBudget,
  SessionChanges,
  StartedTurn,
} from './host/live-session.ts'
export type { ProjectReport } from './host/recover-project.ts'
export { SessionHost } from './host/session-host.ts'
export type { ProjectOwner } from './lock/lock-owner.ts'
export {
  findProjectOwner,
  type LockOptions,
  lockProject,
  type ProjectLock,
  ProjectLockedError,
} from './lock/project-lock.ts'
export { type EventText, joinTexts } from './log/event-text.ts'
export type { LogHealth } from './log/file/log-writer.ts'
export { openSessionLog, removeSessionLog } from './log/open-logs.ts'
export { readSessionLog, type SessionLogReader } from './log/read-log.ts'
export type { AppendOptions, ReadOptions, SessionLog, SessionLogOptions } from './log/session-log.ts'
export type { MessageQueue } from './queue/message-queue.ts'
export type {
  QueuedMessage,
  QueuedRequest,
  QueueErrorCode,
} from './queue/queued-message.ts'
export type { TurnRequest } from './queue/turn-request.ts'
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
export type { SessionStatus } from './status/session-status.ts'
export type { TurnPhase } from './status/turn-phase.ts'
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
export {
  ToolServerBook,
  type ToolServerEntry,
  type ToolServerPlace,
  type ToolServerSource,
} from './tool-servers/tool-server-book.ts'
export {
  consentNotice,
  PersonaConsent,
  type PersonaWithConsent,
  withoutGrants,
} from './trust/persona-consent.ts'
export { ProjectTrust, type ProjectTrustState } from './trust/project-trust.ts'
export { fingerprintOf, TrustStore, type TrustStoreOptions } from './trust/trust-store.ts'
export type { StartingTurn } from './turns/host-context.ts'
export { isRefusal, type Move, REFUSAL } from './turns/leaving-sessions.ts'
export { RunBudgets, type RunBudgetsOptions } from './turns/run-budgets.ts'
export { allowWorkspaceSetup } from './turns/set-up-worktree.ts'
export {
  type PlanReport,
  type UsageAmount,
  type UsageOfSession,
  type UsageOptions,
  type UsageReport,
  type UsageRow,
  usageReport,
} from './usage/usage-report.ts'
