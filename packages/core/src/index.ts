export { CodedError, hasCode, isCodedError } from './coded-error.ts'
export {
  continuesDelta,
  type DeltaEvent,
  deltaText,
  isDelta,
  joinDeltas,
  withDeltaText,
} from './events/deltas.ts'
export {
  type Check,
  checkOf,
  described,
  type Kind,
  type Optional,
  optional,
  type Shape,
  type ValueOf,
} from './events/shape.ts'
export { TextsOnce } from './events/text-once.ts'
export type {
  DiffHunk,
  FileEdit,
  Question,
  QuestionOption,
  TextSwap,
  Todo,
  ToolFacts,
  ToolKind,
} from './events/tool-facts.ts'
export type {
  AlwaysRule,
  BudgetEvent,
  BudgetScope,
  CallRisk,
  ChatCompleteEvent,
  ChatDeltaEvent,
  ChatMessageEvent,
  ChatThinkingEvent,
  Envelope,
  EventOf,
  LimitsEvent,
  LogGapEvent,
  NativeUnknownEvent,
  PermissionRequestEvent,
  PermissionResolvedEvent,
  PlanWindow,
  ProcessExitEvent,
  RiskKind,
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
export {
  SESSION_ERROR_CODE,
  TEXT_REF,
  type TextRef,
  TURN_END_REASON,
  UI_EVENTS,
  USAGE_INFO,
} from './events/ui-event.ts'
export { unreachable } from './events/unreachable.ts'
export { CAGE_LEVELS, type CageLevel, strictestCage } from './harness/cage-level.ts'
export { type ChoiceWords, MODE_WORDS, PERMISSION_WORDS, permissionLabel } from './harness/choices.ts'
export type {
  AllowDecision,
  DecidedBy,
  DenyDecision,
  Guard,
  GuardedCall,
  GuardRule,
  GuardVerdict,
  PermissionDecision,
} from './harness/decision.ts'
export {
  HarnessAuthError,
  HarnessBusyError,
  HarnessError,
  HarnessNotInstalledError,
} from './harness/errors.ts'
export type { CommandSandbox, ProjectFile, ProjectFiles } from './harness/folder-facts.ts'
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
  HarnessQuery,
  HarnessTurnOpts,
  HarnessUsage,
  ImageSource,
  JsonSchema,
  McpHttpServerConfig,
  McpServerConfig,
  McpStdioServerConfig,
  PermissionMode,
  PromptPart,
  SessionHarness,
  TakeBatch,
  TurnEvents,
} from './harness/harness.ts'
export { runTurn } from './harness/harness.ts'
export {
  HARNESS_ID,
  type HarnessEnvironment,
  type HarnessLogin,
  type HarnessMeta,
  loginWords,
} from './harness/harness-meta.ts'
export type { NativeSessions } from './harness/native-session.ts'
export {
  byNewest,
  type ConversationFile,
  type ConversationPlace,
  type ImportedSession,
  type ListNativeSessionsOptions,
  type NativeSession,
} from './harness/native-session.ts'
export { type HarnessModel, type SlashCommand, THINKING_LEVELS, type ThinkingLevel } from './harness/offer.ts'
export type { TurnProcess, TurnTrace } from './harness/turn-trace.ts'
export {
  compareVersions,
  type HarnessVersions,
  type VersionSupport,
  versionNote,
  versionSupport,
} from './harness/versions.ts'
export { budgetText, formatDuration, needsYouText, tokensText } from './money/amounts.ts'
export {
  addCost,
  allTokens,
  type Cost,
  type CostLedger,
  costSoFar,
  costText,
  NO_COST,
  roundUsd,
  sumUsage,
  usdText,
} from './money/cost.ts'
export type { ModelPrice } from './money/prices.ts'
export {
  ASSUMED_USD_PER_MILLION,
  costOf,
  type ParsedPrices,
  PRICES,
  type PriceTable,
  parsePrices,
  priceOf,
} from './money/prices.ts'
export { SLOT_MS, type Spend } from './money/spends.ts'
export type { CsvRow } from './money/usage-csv.ts'
export { usageCsv } from './money/usage-csv.ts'
export type * from './native/claude/base.ts'
export type * from './native/claude/claude-event.ts'
export { parseClaudeEvent } from './native/claude/claude-event.ts'
export type * from './native/claude/message-events.ts'
export type * from './native/claude/other-events.ts'
export type * from './native/claude/system-events.ts'
export type * from './native/codex/codex-event.ts'
export { codexThreadOf, concernsThreads, parseCodexEvent } from './native/codex/codex-event.ts'
export type * from './native/codex/exec-events.ts'
export type * from './native/codex/notifications.ts'
export type { JsonObject, UnknownName } from './native/loose.ts'
export type { LineFramerOptions, LineRecord } from './ndjson/line-framer.ts'
export { LineFramer } from './ndjson/line-framer.ts'
export type { NdjsonFramerOptions, NdjsonRecord } from './ndjson/ndjson-framer.ts'
export { NdjsonFramer } from './ndjson/ndjson-framer.ts'
export type { RiskPlace } from './rules/command-risks.ts'
export {
  commandRisks,
  credentialRisk,
  isCredentialFile,
  RISK_EFFECTS,
  riskTitle,
} from './rules/command-risks.ts'
export type { GlobOptions } from './rules/glob.ts'
export { anywhere, escapeGlob, type Glob, globMatches, literalOf, parseGlob } from './rules/glob.ts'
export { allowsCommand, findsCommand } from './rules/match-command.ts'
export { isProtectedName, isProtectedPath } from './rules/protected-files.ts'
export { unwrapShell } from './rules/shell-commands.ts'
export { writtenFiles } from './rules/written-files.ts'
export { lineOf } from './session/last-line.ts'
export { reduceSession } from './session/reduce.ts'
export type { HarnessId, Session, SessionMode, TurnOpts } from './session/session.ts'
export { DEFAULT_MAX_TURNS, SESSION_MODES } from './session/session.ts'
export type {
  BudgetItem,
  CallDecision,
  ErrorItem,
  GapItem,
  NoticeItem,
  SessionItem,
  SessionItemBase,
  SessionState,
  TextItem,
  ThinkingItem,
  ToolItem,
  ToolWait,
  UserItem,
} from './session/state.ts'
export { initialSessionState, stateAfter } from './session/state.ts'
export type {
  AgentFacts,
  SessionCondition,
  SessionFailure,
  SessionPhase,
  SessionSummary,
  SummaryDraft,
  TurnState,
} from './session/summary.ts'
export {
  beginsConversation,
  conditionOf,
  foldSummary,
  HOST_NOTICE,
  NEW_CONVERSATION,
  newSummary,
  nextPending,
  summarize,
  turnCost,
  UNANSWERED,
} from './session/summary.ts'
export { SIGNED_OUT_CLOSE, SOCKET_PROTOCOL, TOKEN_PROTOCOL } from './socket-protocol.ts'
export {
  ACP_ID_PREFIX,
  type AcpTranslator,
  type AcpTranslatorOptions,
  createAcpTranslator,
} from './translate/acp/acp-translator.ts'
export { elicitationContent } from './translate/acp/elicitation.ts'
export type { AcpCommand } from './translate/acp/tool-calls.ts'
export type { ClaudeTranslator, ClaudeTranslatorOptions } from './translate/claude/claude-translator.ts'
export { createClaudeTranslator } from './translate/claude/claude-translator.ts'
export type { ClaudeOutcome } from './translate/claude/state.ts'
export type { Suggestion } from './translate/claude/tools/suggestions.ts'
export { narrowestSuggestion } from './translate/claude/tools/suggestions.ts'
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
export type { MessagesApiTranslator } from './translate/messages-api/messages-api-translator.ts'
export { createMessagesApiTranslator } from './translate/messages-api/messages-api-translator.ts'
export { isSecretField } from './translate/secret-fields.ts'
export type { Translator, TranslatorOptions } from './translate/shared.ts'
export { type AskedDecision, decisionTold, stalled } from './translate/told.ts'
export { answersOf, editsOf, factsOf, outputCut, statedTokens, todosOf } from './translate/tool-facts.ts'
export {
  allowedNames,
  extraRights,
  isForRights,
  restrictedNames,
  type ToolSubject,
  toolKind,
  toolSubject,
} from './translate/tool-shapes.ts'
export { createTranslator, TRANSLATABLE_HARNESSES } from './translate/translate.ts'
export type { ToldCall } from './words/call-words.ts'
export { type CallState, type CallWords, callState, callWords, isUndone } from './words/call-words.ts'
export { didYouMean } from './words/did-you-mean.ts'
export { canGoOn, GO_ON } from './words/go-on.ts'
export { VERDICT_WORDS, type VerdictCounts, type VerdictWord, verdictsText } from './words/verdict.ts'
export { visibleLine, visibleText } from './words/visible-text.ts'
