export type { Envelope } from './events/envelope.ts'
export type {
  AlwaysRule,
  BudgetEvent,
  BudgetScope,
  ChatCompleteEvent,
  ChatDeltaEvent,
  ChatMessageEvent,
  ChatThinkingEvent,
  LogGapEvent,
  NativeUnknownEvent,
  PermissionRequestEvent,
  PermissionResolvedEvent,
  ProcessExitEvent,
  SessionCompleteEvent,
  SessionErrorCode,
  SessionErrorEvent,
  SessionInitEvent,
  StatusEvent,
  StatusKind,
  ToolInputEvent,
  ToolResultEvent,
  ToolStartEvent,
  TurnEndEvent,
  TurnEndReason,
  TurnStartEvent,
  UIEvent,
  UIEventType,
  UsageEvent,
  UsageInfo,
} from './events/ui-event.ts'
export { unreachable } from './events/unreachable.ts'
export type { AllowDecision, DecidedBy, DenyDecision, PermissionDecision } from './harness/decision.ts'
export {
  HarnessAuthError,
  HarnessBusyError,
  HarnessError,
  HarnessNotInstalledError,
} from './harness/errors.ts'
export type { Guard, GuardedCall, GuardRule, GuardVerdict } from './harness/guard.ts'
export type {
  AdoptTurnOpts,
  ClientToolDefinition,
  ClientToolResult,
  ContextUsage,
  DocumentSource,
  Harness,
  HarnessCapabilities,
  HarnessErrorCode,
  HarnessEvent,
  HarnessInstallStatus,
  HarnessMeta,
  HarnessModel,
  HarnessQuery,
  HarnessTurnOpts,
  HarnessUsage,
  ImageSource,
  JsonSchema,
  McpHttpServerConfig,
  McpServerConfig,
  McpStdioServerConfig,
  PermissionMode,
  ProjectFile,
  ProjectFiles,
  PromptPart,
  SessionHarness,
  SlashCommand,
} from './harness/harness.ts'
export type { ImportedSession, ListNativeSessionsOptions, NativeSession } from './harness/native-session.ts'
export type { TurnProcess, TurnTrace } from './harness/turn-trace.ts'
export {
  compareVersions,
  type HarnessVersions,
  type VersionSupport,
  versionNote,
  versionSupport,
} from './harness/versions.ts'
export {
  addCost,
  allTokens,
  type Cost,
  type CostLedger,
  costBetween,
  costSoFar,
  costText,
  NO_COST,
  roundUsd,
  usdText,
} from './money/cost.ts'
export {
  ASSUMED_USD_PER_MILLION,
  costOf,
  type ModelPrice,
  type ParsedPrices,
  PRICES,
  PRICES_AS_OF,
  type PriceTable,
  parsePrices,
  priceOf,
} from './money/prices.ts'
export type { ClaudeEventBase, ClaudeNestedEventBase, ClaudeUsage } from './native/claude/base.ts'
export type { ClaudeEvent, ClaudeUnknownEvent } from './native/claude/claude-event.ts'
export type {
  ClaudeCanUseToolRequest,
  ClaudeControlCancelRequestEvent,
  ClaudeControlRequestEvent,
  ClaudeControlResponseEvent,
} from './native/claude/control-events.ts'
export type {
  ClaudeApiStreamEvent,
  ClaudeAssistantEvent,
  ClaudeContentBlock,
  ClaudeDelta,
  ClaudeMessage,
  ClaudeStreamEvent,
  ClaudeUserEvent,
} from './native/claude/message-events.ts'
export type {
  ClaudeActiveGoalEvent,
  ClaudeAuthStatusEvent,
  ClaudeCommandLifecycleEvent,
  ClaudeConversationResetEvent,
  ClaudeKeepAliveEvent,
  ClaudePromptSuggestionEvent,
  ClaudeRateLimitEvent,
  ClaudeRateLimitInfo,
  ClaudeToolProgressEvent,
  ClaudeToolUseSummaryEvent,
} from './native/claude/other-events.ts'
export { parseClaudeEvent } from './native/claude/parse-claude-event.ts'
export type {
  ClaudeModelUsage,
  ClaudePermissionDenial,
  ClaudeResultEvent,
} from './native/claude/result-event.ts'
export type {
  ClaudeApiRetryEvent,
  ClaudeBackgroundTasksEvent,
  ClaudeCompactBoundaryEvent,
  ClaudeHookEvent,
  ClaudeHousekeepingEvent,
  ClaudeInformationalEvent,
  ClaudeInitEvent,
  ClaudeLocalCommandOutputEvent,
  ClaudeModelFallbackEvent,
  ClaudeModelRefusalEvent,
  ClaudeNotificationEvent,
  ClaudePermissionDeniedEvent,
  ClaudeSessionStateEvent,
  ClaudeSessionTitleEvent,
  ClaudeStatusEvent,
  ClaudeSystemEvent,
  ClaudeSystemSubtype,
  ClaudeTaskEvent,
  ClaudeTaskUpdatedEvent,
} from './native/claude/system-events.ts'
export type {
  CodexAppServerMessage,
  CodexRequestId,
  CodexResponse,
  CodexServerRequest,
  CodexServerRequestMethod,
} from './native/codex/app-server-messages.ts'
export type { CodexUsage } from './native/codex/base.ts'
export type { CodexEvent, CodexUnknownEvent } from './native/codex/codex-event.ts'
export type {
  CodexErrorEvent,
  CodexExecEvent,
  CodexItemCompletedEvent,
  CodexItemStartedEvent,
  CodexItemUpdatedEvent,
  CodexThreadStartedEvent,
  CodexTurnCompletedEvent,
  CodexTurnFailedEvent,
  CodexTurnStartedEvent,
} from './native/codex/exec-events.ts'
export type {
  CodexAgentMessageItem,
  CodexCollabToolCallItem,
  CodexCommandExecutionItem,
  CodexErrorItem,
  CodexFileChangeItem,
  CodexItem,
  CodexMcpToolCallItem,
  CodexReasoningItem,
  CodexTodoListItem,
  CodexUnknownItem,
  CodexWebSearchItem,
} from './native/codex/exec-items.ts'
export { codexThreadOf, concernsThreads } from './native/codex/message-owner.ts'
export type { CodexNotification, CodexNotificationMethod } from './native/codex/notifications.ts'
export { parseCodexEvent } from './native/codex/parse-codex-event.ts'
export type {
  CodexThread,
  CodexThreadItem,
  CodexTokenCounts,
  CodexTokenUsage,
  CodexTurn,
  CodexTurnError,
} from './native/codex/thread.ts'
export type { UnknownName } from './native/unknown-name.ts'
export type { LineFramerOptions, LineRecord } from './ndjson/line-framer.ts'
export { DEFAULT_MAX_LINE_BYTES, LineFramer } from './ndjson/line-framer.ts'
export type { NdjsonFramerOptions, NdjsonRecord } from './ndjson/ndjson-framer.ts'
export { MALFORMED_TEXT_CHARS, NdjsonFramer } from './ndjson/ndjson-framer.ts'
export { anywhere, escapeGlob, type Glob, globMatches, literalOf, parseGlob } from './rules/glob.ts'
export { allowsCommand, findsCommand } from './rules/match-command.ts'
export { isProtectedName, isProtectedPath } from './rules/protected-files.ts'
export { unwrapShell } from './rules/shell-commands.ts'
export { narrowestSuggestion, type Suggestion } from './rules/suggestions.ts'
export { writtenFiles } from './rules/written-files.ts'
export type { HarnessId } from './session/harness-id.ts'
export { reduceSession } from './session/reduce.ts'
export type { Session, SessionMode, TurnOpts } from './session/session.ts'
export { DEFAULT_MAX_TURNS, SESSION_MODES } from './session/session.ts'
export type {
  AgentFacts,
  BudgetItem,
  ErrorItem,
  GapItem,
  NoticeItem,
  SessionItem,
  SessionPhase,
  SessionState,
  TextItem,
  ThinkingItem,
  ToolItem,
  ToolWait,
  TurnState,
  UserItem,
} from './session/state.ts'
export { initialSessionState } from './session/state.ts'
export { SIGNED_OUT_CLOSE, SOCKET_PROTOCOL, TOKEN_PROTOCOL } from './socket-protocol.ts'
export type { ClaudeTranslator, ClaudeTranslatorOptions } from './translate/claude/claude-translator.ts'
export { createClaudeTranslator } from './translate/claude/claude-translator.ts'
export type { ClaudeOutcome } from './translate/claude/state.ts'
export type {
  CodexAppServerTranslator,
  CodexAppServerTranslatorOptions,
} from './translate/codex/app-server-translator.ts'
export { createCodexAppServerTranslator } from './translate/codex/app-server-translator.ts'
export type { CodexTranslator } from './translate/codex/codex-translator.ts'
export type { CodexExecTranslatorOptions } from './translate/codex/exec-translator.ts'
export { createCodexExecTranslator } from './translate/codex/exec-translator.ts'
export type { CodexAgentFacts, CodexOutcome } from './translate/codex/state.ts'
export { HOST_REQUESTS as CODEX_HOST_REQUESTS } from './translate/codex/tools/requests.ts'
export { createCodexTranslator } from './translate/codex/voice.ts'
export { createMessagesApiTranslator } from './translate/messages-api-translator.ts'
export type { Translator, TranslatorOptions } from './translate/translate.ts'
export { createTranslator, TRANSLATABLE_HARNESSES } from './translate/translate.ts'
export { budgetText, tokensText } from './words/budget-text.ts'
export { type ChoiceWords, MODE_WORDS, PERMISSION_WORDS, permissionLabel } from './words/choices.ts'
export { formatDuration } from './words/duration.ts'
export { type AskedDecision, decisionTold, stalled } from './words/told.ts'
