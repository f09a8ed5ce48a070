export { ApiError } from './api/api-error.ts'
export type { Endpoint } from './api/endpoint.ts'
export type {
  ApiEvent,
  ContentBlock,
  FileBlock,
  Message,
  ModelStop,
  PromptBlock,
  TextBlock,
  ThinkingBlock,
  ToolResultBlock,
  ToolUseBlock,
} from './api/messages.ts'
export type { RetryNotice } from './api/retry.ts'
export { SseParser } from './api/sse-parser.ts'
export { MESSAGES_API_META } from './descriptor.ts'
export { MessagesApiHarness } from './harness.ts'
export type { MessagesApiEvent, MessagesApiEventType } from './log/native-event.ts'
export { AgentLoop, type PromptOptions, type PromptResult } from './loop/agent-loop.ts'
export type { Config } from './loop/config.ts'
export type { EventHandler, RequestFacts } from './loop/event-handler.ts'
export type { PromptContent } from './loop/history.ts'
export type { Tool, ToolContext, ToolOutput } from './loop/tool.ts'
