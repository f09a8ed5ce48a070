/** A notification about a thread or the process. */
export type CodexNotification = CodexTalkingNotification | CodexSilentNotification

export type CodexNotificationMethod = CodexNotification['method']

export interface CodexNotificationOf<M extends string, P> {
  type?: undefined
  id?: undefined
  method: M
  params?: P
  emittedAtMs?: number
  [key: string]: unknown
}

export interface CodexInThread {
  threadId?: string
  turnId?: string | null
  [key: string]: unknown
}

export interface CodexOfItem extends CodexInThread {
  itemId?: string
}

/** Notifications that are shown in some form. */
export type CodexTalkingNotification =
  | CodexNotificationOf<'thread/started', { thread?: CodexThread; [key: string]: unknown }>
  | CodexNotificationOf<
      'thread/settings/updated',
      CodexInThread & { threadSettings?: Record<string, unknown> }
    >
  | CodexNotificationOf<'thread/tokenUsage/updated', CodexInThread & { tokenUsage?: CodexTokenUsage }>
  | CodexNotificationOf<'thread/name/updated', CodexInThread & { threadName?: string | null }>
  | CodexNotificationOf<
      'thread/goal/updated',
      CodexInThread & { goal?: { objective?: string; status?: string } }
    >
  | CodexNotificationOf<'thread/compacted' | 'thread/reverted', CodexInThread>
  | CodexNotificationOf<'turn/started' | 'turn/completed', CodexInThread & { turn?: CodexTurn }>
  | CodexNotificationOf<
      'turn/plan/updated',
      CodexInThread & { explanation?: string | null; plan?: { step?: string; status?: string }[] }
    >
  | CodexNotificationOf<'turn/diff/updated', CodexInThread & { diff?: string }>
  | CodexNotificationOf<'item/started' | 'item/completed', CodexInThread & { item?: CodexThreadItem }>
  | CodexNotificationOf<
      'item/agentMessage/delta' | 'item/plan/delta' | 'item/commandExecution/outputDelta',
      CodexOfItem & { delta?: string }
    >
  | CodexNotificationOf<
      'item/reasoning/summaryTextDelta',
      CodexOfItem & { delta?: string; summaryIndex?: number }
    >
  | CodexNotificationOf<'item/reasoning/textDelta', CodexOfItem & { delta?: string; contentIndex?: number }>
  | CodexNotificationOf<'item/commandExecution/terminalInteraction', CodexOfItem & { stdin?: string }>
  | CodexNotificationOf<'item/fileChange/patchUpdated', CodexOfItem & { changes?: unknown[] }>
  | CodexNotificationOf<'item/mcpToolCall/progress', CodexOfItem & { message?: string }>
  | CodexNotificationOf<
      'item/autoApprovalReview/completed',
      CodexInThread & { targetItemId?: string | null; review?: unknown; action?: unknown }
    >
  | CodexNotificationOf<'hook/completed', CodexInThread & { run?: Record<string, unknown> }>
  | CodexNotificationOf<'serverRequest/resolved', CodexInThread & { requestId?: string | number }>
  | CodexNotificationOf<'error', CodexInThread & { error?: CodexTurnError; willRetry?: boolean }>
  | CodexNotificationOf<'warning' | 'guardianWarning', CodexInThread & { message?: string }>
  | CodexNotificationOf<
      'configWarning' | 'deprecationNotice',
      { summary?: string; details?: string | null; [key: string]: unknown }
    >
  | CodexNotificationOf<
      'mcpServer/startupStatus/updated',
      CodexInThread & { name?: string; status?: string; error?: string | null }
    >
  | CodexNotificationOf<
      'model/rerouted',
      CodexInThread & { fromModel?: string; toModel?: string; reason?: string }
    >
  | CodexNotificationOf<'model/safetyBuffering/updated' | 'model/verification', CodexInThread>
  | CodexNotificationOf<
      'modelProvider/authRecoveryStarted' | 'modelProvider/authRecoveryCompleted',
      CodexInThread & { message?: string }
    >
  | CodexNotificationOf<'account/rateLimits/updated', { rateLimits?: Record<string, unknown> }>
  | CodexNotificationOf<'windows/worldWritableWarning', Record<string, unknown>>

/** Known notifications with nothing to show, or whose content another message repeats. */
export type CodexSilentNotification = CodexNotificationOf<
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
