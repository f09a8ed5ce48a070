/** A notification about a thread or the process. */
export type CodexNotification = CodexTalkingNotification | CodexSilentNotification

export type CodexNotificationMethod = CodexNotification['method']

interface Notification<M extends string, P> {
  type?: undefined
  id?: undefined
  method: M
  params?: P
  emittedAtMs?: number
  [key: string]: unknown
}

interface InThread {
  threadId?: string
  turnId?: string | null
  [key: string]: unknown
}

interface OfItem extends InThread {
  itemId?: string
}

/** Notifications that are shown in some form. */
export type CodexTalkingNotification =
  | Notification<'thread/started', { thread?: CodexThread; [key: string]: unknown }>
  | Notification<'thread/settings/updated', InThread & { threadSettings?: Record<string, unknown> }>
  | Notification<'thread/tokenUsage/updated', InThread & { tokenUsage?: CodexTokenUsage }>
  | Notification<'thread/name/updated', InThread & { threadName?: string | null }>
  | Notification<'thread/goal/updated', InThread & { goal?: { objective?: string; status?: string } }>
  | Notification<'thread/compacted' | 'thread/reverted', InThread>
  | Notification<'turn/started' | 'turn/completed', InThread & { turn?: CodexTurn }>
  | Notification<
      'turn/plan/updated',
      InThread & { explanation?: string | null; plan?: { step?: string; status?: string }[] }
    >
  | Notification<'turn/diff/updated', InThread & { diff?: string }>
  | Notification<'item/started' | 'item/completed', InThread & { item?: CodexThreadItem }>
  | Notification<
      'item/agentMessage/delta' | 'item/plan/delta' | 'item/commandExecution/outputDelta',
      OfItem & { delta?: string }
    >
  | Notification<'item/reasoning/summaryTextDelta', OfItem & { delta?: string; summaryIndex?: number }>
  | Notification<'item/reasoning/textDelta', OfItem & { delta?: string; contentIndex?: number }>
  | Notification<'item/commandExecution/terminalInteraction', OfItem & { stdin?: string }>
  | Notification<'item/fileChange/patchUpdated', OfItem & { changes?: unknown[] }>
  | Notification<'item/mcpToolCall/progress', OfItem & { message?: string }>
  | Notification<
      'item/autoApprovalReview/completed',
      InThread & { targetItemId?: string | null; review?: unknown; action?: unknown }
    >
  | Notification<'hook/completed', InThread & { run?: Record<string, unknown> }>
  | Notification<'serverRequest/resolved', InThread & { requestId?: string | number }>
  | Notification<'error', InThread & { error?: CodexTurnError; willRetry?: boolean }>
  | Notification<'warning' | 'guardianWarning', InThread & { message?: string }>
  | Notification<
      'configWarning' | 'deprecationNotice',
      { summary?: string; details?: string | null; [key: string]: unknown }
    >
  | Notification<
      'mcpServer/startupStatus/updated',
      InThread & { name?: string; status?: string; error?: string | null }
    >
  | Notification<'model/rerouted', InThread & { fromModel?: string; toModel?: string; reason?: string }>
  | Notification<'model/safetyBuffering/updated' | 'model/verification', InThread>
  | Notification<
      'modelProvider/authRecoveryStarted' | 'modelProvider/authRecoveryCompleted',
      InThread & { message?: string }
    >
  | Notification<'account/rateLimits/updated', { rateLimits?: Record<string, unknown> }>
  | Notification<'windows/worldWritableWarning', Record<string, unknown>>

/** Known notifications with nothing to show, or whose content another message repeats. */
export type CodexSilentNotification = Notification<
  | 'account/gatewayOAuth/changed'
  | 'account/login/completed'
  | 'account/updated'
  | 'app/list/updated'
  | 'autoApprovalReview/strictReviewRequired'
  | 'command/exec/outputDelta'
  | 'externalAgentConfig/import/completed'
  | 'externalAgentConfig/import/progress'
  | 'fs/changed'
  | 'fuzzyFileSearch/sessionCompleted'
  | 'fuzzyFileSearch/sessionUpdated'
  | 'hook/started'
  | 'item/autoApprovalReview/started'
  | 'item/fileChange/outputDelta'
  | 'item/reasoning/summaryPartAdded'
  | 'mcpServer/event/stream/notification'
  | 'mcpServer/oauthLogin/completed'
  | 'process/exited'
  | 'process/outputDelta'
  | 'project/changed'
  | 'rawResponse/completed'
  | 'rawResponseItem/completed'
  | 'remoteControl/status/changed'
  | 'skills/changed'
  | 'thread/archived'
  | 'thread/attachment/updated'
  | 'thread/closed'
  | 'thread/deleted'
  | 'thread/environment/connected'
  | 'thread/environment/disconnected'
  | 'thread/goal/cleared'
  | 'thread/prediction/updated'
  | 'thread/project/updated'
  | 'thread/queue/changed'
  | 'thread/readState/changed'
  | 'thread/realtime/closed'
  | 'thread/realtime/error'
  | 'thread/realtime/item/completed'
  | 'thread/realtime/item/started'
  | 'thread/realtime/item/transcript/delta'
  | 'thread/realtime/itemAdded'
  | 'thread/realtime/outputAudio/delta'
  | 'thread/realtime/sdp'
  | 'thread/realtime/started'
  | 'thread/realtime/transcript/delta'
  | 'thread/realtime/transcript/done'
  | 'thread/status/changed'
  | 'thread/unarchived'
  | 'turn/moderationMetadata'
  | 'windowsSandbox/setupCompleted',
  unknown
>

// The content of app-server notifications and responses.

/** A conversation, as `thread/started` and the responses to `thread/start`, `resume` and `fork` describe it. */
export interface CodexThread {
  id?: string
  /** Set on the thread of a sub-agent. */
  parentThreadId?: string | null
  forkedFromId?: string | null
  model?: string | null
  cwd?: string
  /** The version that created the thread, not the one that runs it. */
  cliVersion?: string
  [key: string]: unknown
}

export interface CodexTurn {
  id?: string
  status?: 'inProgress' | 'completed' | 'interrupted' | 'failed' | (string & {})
  error?: CodexTurnError | null
  /** Only the last message, in notifications. */
  items?: CodexThreadItem[]
  durationMs?: number | null
  [key: string]: unknown
}

export interface CodexTurnError {
  message?: string
  /** A name, or an object with a name as its only key: `{ httpConnectionFailed: { httpStatusCode: 401 } }`. */
  codexErrorInfo?: string | Record<string, { httpStatusCode?: number | null } | unknown> | null
  additionalDetails?: string | null
  [key: string]: unknown
}

/** One message or action. The fields are those of `CodexItem` in camel case, and more. */
export interface CodexThreadItem {
  type?: string
  id?: string
  [key: string]: unknown
}

export interface CodexTokenUsage {
  /** Of the whole thread. */
  total?: CodexTokenCounts
  /** Of the last model answer. */
  last?: CodexTokenCounts
  modelContextWindow?: number | null
  [key: string]: unknown
}

export interface CodexTokenCounts {
  totalTokens?: number
  inputTokens?: number
  cachedInputTokens?: number
  cacheWriteInputTokens?: number
  outputTokens?: number
  reasoningOutputTokens?: number
  [key: string]: unknown
}
