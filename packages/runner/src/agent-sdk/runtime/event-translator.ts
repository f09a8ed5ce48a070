import type { HookName } from '../protocol/worker-messages.ts'
import type { RuntimeEvent, RuntimeEventKind } from './runtime-event.ts'

/** The input of a hook as a runtime event. A missing or new field never throws. */
export function translateHook(id: string, hookName: string, input: Record<string, unknown>): RuntimeEvent {
  const known = isHookName(hookName) ? hookName : null
  const toolName = text(input.tool_name)
  const toolUseId = text(input.tool_use_id)
  const agentId = text(input.agent_id)
  return {
    id,
    kind: known ? KINDS[known] : 'unknown',
    hookName: known,
    nativeSessionId: text(input.session_id) ?? null,
    ...(toolName === undefined ? {} : { toolName }),
    ...(toolUseId === undefined ? {} : { toolUseId }),
    ...(agentId === undefined ? {} : { agentId }),
    expectsDecision: known !== null && DECIDED.has(known),
    data: input,
  }
}

/** Messages also report the start and end of a conversation, because the start hook does not always fire. */
export function translateMessage(id: string, message: Record<string, unknown>): RuntimeEvent | undefined {
  const kind = messageKind(message)
  if (kind === undefined) return undefined
  return {
    id,
    kind,
    hookName: null,
    nativeSessionId: text(message.session_id) ?? null,
    expectsDecision: false,
    data: message,
  }
}

/** Whether the answer can block the agent's action. */
export function isDecided(hookName: HookName): boolean {
  return DECIDED.has(hookName)
}

const DECIDED: ReadonlySet<HookName> = new Set<HookName>([
  'PreToolUse',
  'PermissionRequest',
  'UserPromptSubmit',
  'Stop',
  'SubagentStop',
  'PreCompact',
])

const KINDS: Readonly<Record<HookName, RuntimeEventKind>> = {
  PreToolUse: 'tool.pre',
  PostToolUse: 'tool.post',
  PostToolUseFailure: 'tool.failure',
  PostToolBatch: 'tool.batch',
  Notification: 'notification',
  UserPromptSubmit: 'user.prompt',
  UserPromptExpansion: 'user.prompt.expansion',
  SessionStart: 'session.start',
  SessionEnd: 'session.end',
  Stop: 'stop.request',
  StopFailure: 'stop.failure',
  SubagentStart: 'subagent.start',
  SubagentStop: 'subagent.stop',
  PreCompact: 'compact.pre',
  PostCompact: 'compact.post',
  PreModelSwitch: 'model.pre',
  PostModelSwitch: 'model.post',
  PermissionRequest: 'permission.request',
  PermissionDenied: 'permission.denied',
  Setup: 'setup',
  TeammateIdle: 'teammate.idle',
  TaskCreated: 'task.created',
  TaskCompleted: 'task.completed',
  Elicitation: 'elicitation',
  ElicitationResult: 'elicitation.result',
  ConfigChange: 'config.change',
  WorktreeCreate: 'worktree.create',
  WorktreeRemove: 'worktree.remove',
  InstructionsLoaded: 'instructions.loaded',
  CwdChanged: 'cwd.changed',
  FileChanged: 'file.changed',
  DirectoryAdded: 'directory.added',
  MessageDisplay: 'message.display',
}

function messageKind(message: Record<string, unknown>): RuntimeEventKind | undefined {
  if (message.type === 'result') return 'session.end'
  if (message.type === 'system' && message.subtype === 'init') return 'session.start'
  return undefined
}

function isHookName(name: string): name is HookName {
  return Object.hasOwn(KINDS, name)
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
