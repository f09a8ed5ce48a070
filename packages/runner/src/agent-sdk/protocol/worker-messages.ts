/** Main thread to Worker. */
export type WorkerRequest =
  | { type: 'start'; start: StartRequest }
  /** One more message of the user, in the form the agent reads. */
  | { type: 'message'; message: Record<string, unknown> }
  /** What a hook or a permission request is answered with, in the agent's own form. */
  | { type: 'decision'; requestId: string; output: Record<string, unknown> }
  | { type: 'control'; id: number; method: ControlMethod; argument?: unknown }
  /** What the agent printed. */
  | { type: 'stdout'; text: string }
  | { type: 'exit'; code: number | null; signal: string | null }
  /** No more messages will come: end when the last is answered. */
  | { type: 'finish' }
  | { type: 'abort' }

export interface StartRequest {
  /** Where the SDK's module lies: a Worker must not look it up from a place of its own. */
  sdkUrl: string
  options: Record<string, unknown>
  hooks: readonly HookToRegister[]
  /** Older agents do not know `onFailure`, and the SDK refuses it for them. */
  blockOnHookFailure: boolean
  /** What a call of a tool is answered with that nobody guards any more; absent when none is guarded. */
  guardRefusal?: Record<string, unknown>
}

export interface HookToRegister {
  hookName: HookName
  /** What it is answered with when nobody waits for a decision any more: whatever the agent was about to do, it may not. */
  refusal: Record<string, unknown>
}

export type ControlMethod = 'interrupt' | 'setPermissionMode' | 'setModel' | 'getContextUsage'

/** Worker to main thread. */
export type WorkerResponse =
  | { type: 'ready' }
  /** The SDK wants its agent. The main thread starts it, so that it outlives no Worker. */
  | { type: 'spawn'; command: string; args: string[]; cwd: string; env: Record<string, string> }
  | { type: 'stdin'; text: string }
  | { type: 'stdin-end' }
  | { type: 'kill'; signal: string }
  | { type: 'hook_event'; requestId: string; hookName: HookName; hookInput: Record<string, unknown> }
  | { type: 'permission'; requestId: string; toolName: string; input: Record<string, unknown> }
  /** The agent is about to call a tool. Whoever reads the spool sees the same, and answers. */
  | { type: 'guard'; requestId: string }
  /** Nobody waits for that decision any more. */
  | { type: 'withdrawn'; requestId: string }
  /** The beginning and the results of a conversation; all the rest is read from the spool. */
  | { type: 'sdk_message'; message: Record<string, unknown> }
  | { type: 'control-result'; id: number; value?: unknown; error?: string }
  | { type: 'done' }
  | { type: 'error'; error: string }

/** Every hook that Agent SDK 0.3.325 knows. One that it does not know would make it refuse to start. */
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
