export type { Envelope } from './envelope.ts'
export {
  HarnessAuthError,
  HarnessBusyError,
  HarnessError,
  HarnessNotInstalledError,
} from './errors.ts'
export type {
  ClientToolDefinition,
  ClientToolResult,
  Harness,
  HarnessCapabilities,
  HarnessErrorCode,
  HarnessEvent,
  HarnessId,
  HarnessInstallStatus,
  HarnessMeta,
  HarnessModel,
  HarnessQuery,
  HarnessUsage,
  ImageSource,
  JsonSchema,
  McpHttpServerConfig,
  McpServerConfig,
  McpStdioServerConfig,
  PermissionMode,
  PromptPart,
  SlashCommand,
} from './harness.ts'
export type { LineFramerOptions, LineRecord } from './ndjson/line-framer.ts'
export { DEFAULT_MAX_LINE_BYTES, LineFramer } from './ndjson/line-framer.ts'
export type { NdjsonFramerOptions, NdjsonRecord } from './ndjson/ndjson-framer.ts'
export { MALFORMED_TEXT_CHARS, NdjsonFramer } from './ndjson/ndjson-framer.ts'
export { reduceSession } from './session/reduce.ts'
export type { Session, SessionMode, TurnOpts } from './session/session.ts'
export { DEFAULT_MAX_TURNS, SESSION_MODES } from './session/session.ts'
export type {
  AgentFacts,
  ErrorItem,
  GapItem,
  NoticeItem,
  SessionItem,
  SessionPhase,
  SessionState,
  TextItem,
  ThinkingItem,
  ToolItem,
  TurnState,
  UserItem,
} from './session/state.ts'
export { initialSessionState } from './session/state.ts'
export type {
  BudgetEvent,
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
} from './ui-event.ts'
export { unreachable } from './unreachable.ts'
