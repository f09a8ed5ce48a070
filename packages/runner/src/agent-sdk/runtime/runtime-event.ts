import type { HookName } from '../protocol/worker-messages.ts'

export interface RuntimeEvent {
  id: string
  kind: RuntimeEventKind
  hookName: HookName | null
  /** The agent's session id. */
  nativeSessionId: string | null
  toolName?: string
  toolUseId?: string
  agentId?: string
  /** The handler may answer with a `RuntimeDecision`. */
  expectsDecision: boolean
  data: Record<string, unknown>
}

export type RuntimeEventKind =
  | 'tool.pre'
  | 'tool.post'
  | 'tool.failure'
  | 'tool.batch'
  | 'stop.request'
  | 'stop.failure'
  | 'session.start'
  | 'session.end'
  | 'subagent.start'
  | 'subagent.stop'
  | 'user.prompt'
  | 'user.prompt.expansion'
  | 'compact.pre'
  | 'compact.post'
  | 'model.pre'
  | 'model.post'
  | 'permission.request'
  | 'permission.denied'
  | 'notification'
  | 'setup'
  | 'teammate.idle'
  | 'task.created'
  | 'task.completed'
  | 'elicitation'
  | 'elicitation.result'
  | 'config.change'
  | 'worktree.create'
  | 'worktree.remove'
  | 'instructions.loaded'
  | 'cwd.changed'
  | 'file.changed'
  | 'directory.added'
  | 'message.display'
  | 'unknown'

export type RuntimeDecision =
  | { type: 'passthrough' }
  | { type: 'block'; reason: string }
  | { type: 'intent'; intent: RuntimeIntent }

export type RuntimeIntent =
  | { kind: 'permission_allow'; updatedInput?: Record<string, unknown> }
  | { kind: 'permission_deny'; reason: string }
  | { kind: 'pre_tool_allow'; reason?: string; updatedInput?: Record<string, unknown> }
  | { kind: 'pre_tool_deny'; reason: string }
