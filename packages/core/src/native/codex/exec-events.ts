import type { CodexEventBase, CodexUsage } from './base.ts'
import type { CodexItem } from './exec-items.ts'

/** One line that `codex exec --json` printed. */
export type CodexExecEvent =
  | CodexThreadStartedEvent
  | CodexTurnStartedEvent
  | CodexItemStartedEvent
  | CodexItemUpdatedEvent
  | CodexItemCompletedEvent
  | CodexTurnCompletedEvent
  | CodexTurnFailedEvent
  | CodexErrorEvent

export interface CodexThreadStartedEvent extends CodexEventBase {
  type: 'thread.started'
  thread_id?: string
}

export interface CodexTurnStartedEvent extends CodexEventBase {
  type: 'turn.started'
}

export interface CodexItemStartedEvent extends CodexEventBase {
  type: 'item.started'
  item?: CodexItem
}

export interface CodexItemUpdatedEvent extends CodexEventBase {
  type: 'item.updated'
  item?: CodexItem
}

export interface CodexItemCompletedEvent extends CodexEventBase {
  type: 'item.completed'
  item?: CodexItem
}

export interface CodexTurnCompletedEvent extends CodexEventBase {
  type: 'turn.completed'
  usage?: CodexUsage
}

export interface CodexTurnFailedEvent extends CodexEventBase {
  type: 'turn.failed'
  error?: { message?: string; [key: string]: unknown }
}

/** Not the end: "Reconnecting... 1/5" is one too. Only a turn event or the process's exit ends a turn. */
export interface CodexErrorEvent extends CodexEventBase {
  type: 'error'
  message?: string
}
