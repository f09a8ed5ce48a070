/** Main thread to Worker. */
export type WorkerRequest =
  | { type: 'start'; start: StartRequest }
  /** Another user message, in the agent's format. */
  | { type: 'message'; message: Record<string, unknown> }
  /** The answer to a hook or a permission request, in the agent's format. */
  | { type: 'decision'; requestId: string; output: Record<string, unknown> }
  | { type: 'control'; id: number; method: ControlMethod; argument?: unknown }
  /** Output of the agent. */
  | { type: 'stdout'; text: string }
  | { type: 'exit'; code: number | null; signal: string | null }
  /** No more messages follow: end after the last answer. */
  | { type: 'finish' }
  | { type: 'abort' }

export interface StartRequest {
  /** The URL of the SDK's module: the Worker must not resolve it from another place. */
  sdkUrl: string
  options: Record<string, unknown>
  hooks: readonly HookToRegister[]
  /** Older agents do not know `onFailure`, and the SDK refuses it for them. */
  blockOnHookFailure: boolean
  /** The answer to a tool call that is no longer guarded; absent when no call is guarded. */
  guardRefusal?: Record<string, unknown>
}

export interface HookToRegister {
  hookName: HookName
  /** The answer when no decision will come: the agent's action is blocked. */
  refusal: Record<string, unknown>
}

export type ControlMethod = 'interrupt' | 'setPermissionMode' | 'setModel' | 'getContextUsage'

/** Worker to main thread. */
export type WorkerResponse =
  | { type: 'ready' }
  /** The SDK requests its agent. The main thread starts it, so that the agent does not depend on the Worker. */
  | { type: 'spawn'; command: string; args: string[]; cwd: string; env: Record<string, string> }
  | { type: 'stdin'; text: string }
  | { type: 'stdin-end' }
  | { type: 'kill'; signal: string }
  | { type: 'hook_event'; requestId: string; hookName: HookName; hookInput: Record<string, unknown> }
  | { type: 'permission'; requestId: string; toolName: string; input: Record<string, unknown> }
  /** The agent is about to call a tool. The reader of the spool sees the same request and answers it. */
  | { type: 'guard'; requestId: string }
  /** The decision is no longer needed. */
  | { type: 'withdrawn'; requestId: string }
  /** The start and the results of a conversation; everything else is read from the spool. */
  | { type: 'sdk_message'; message: Record<string, unknown> }
  | { type: 'control-result'; id: number; value?: unknown; error?: string }
  | { type: 'done' }
  | { type: 'error'; error: string }

/** Every hook of Agent SDK 0.3.325. The SDK refuses to start with a hook it does not know. */
export const HOOK_NAMES = [
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'PostToolBatch',
  'Notification',
  'UserPromptSubmit',
  'UserPromptExpansion',
  'SessionStart',
  'SessionEnd',
  'Stop',
  'StopFailure',
  'SubagentStart',
  'SubagentStop',
  'PreCompact',
  'PostCompact',
  'PreModelSwitch',
  'PostModelSwitch',
  'PermissionRequest',
  'PermissionDenied',
  'Setup',
  'TeammateIdle',
  'TaskCreated',
  'TaskCompleted',
  'Elicitation',
  'ElicitationResult',
  'ConfigChange',
  'WorktreeCreate',
  'WorktreeRemove',
  'InstructionsLoaded',
  'CwdChanged',
  'FileChanged',
  'DirectoryAdded',
  'MessageDisplay',
] as const

export type HookName = (typeof HOOK_NAMES)[number]
