import type { ClaudeToolProgressEvent } from '../../native/claude/other-events.ts'
import type {
  ClaudeBackgroundTasksEvent,
  ClaudeTaskEvent,
  ClaudeTaskUpdatedEvent,
} from '../../native/claude/system-events.ts'
import { asArray, asNumber, asObject, asText, type JsonObject } from '../../native/loose.ts'
import type { StatusEvent, UIEvent } from '../../ui-event.ts'
import type { TranslatorState } from './state.ts'
import { status } from './ui.ts'

/** Work that runs beside the conversation: sub-agents, and commands that take a while. */
export function translateTask(state: TranslatorState, event: ClaudeTaskEvent): UIEvent[] {
  const taskId = asText(event.task_id)
  const toolUseId = asText(event.tool_use_id) ?? state.taskTools.get(taskId ?? '')
  if (taskId && toolUseId) state.taskTools.set(taskId, toolUseId)
  const taskStatus = event.subtype === 'task_notification' ? (asText(event.status) ?? 'ended') : 'running'
  const description = asText(event.description)
  const summary = asText(event.summary)
  const what = summary ?? description ?? 'Task'
  return [
    status(state, 'task', {
      message: event.subtype === 'task_started' ? `Started: ${what}` : taskLine(what, taskStatus),
      level: levelOf(taskStatus),
      toolUseId,
      data: {
        taskId,
        status: taskStatus,
        description,
        summary,
        taskType: asText(event.task_type),
        subagentType: asText(event.subagent_type),
        background: typeof event.is_backgrounded === 'boolean' ? event.is_backgrounded : undefined,
        lastToolName: asText(event.last_tool_name),
        outputFile: asText(event.output_file),
        usage: taskUsage(event.usage),
      },
    }),
  ]
}

export function translateTaskUpdate(state: TranslatorState, event: ClaudeTaskUpdatedEvent): UIEvent[] {
  const taskId = asText(event.task_id)
  const patch = asObject(event.patch) ?? {}
  const taskStatus = asText(patch.status)
  const what = asText(patch.error) ?? asText(patch.description) ?? 'Task'
  return [
    status(state, 'task', {
      message: taskLine(what, taskStatus ?? 'changed'),
      level: levelOf(taskStatus),
      toolUseId: state.taskTools.get(taskId ?? ''),
      data: { ...patch, taskId },
    }),
  ]
}

export function translateBackgroundTasks(
  state: TranslatorState,
  event: ClaudeBackgroundTasksEvent,
): UIEvent[] {
  const tasks = asArray(event.tasks).map(value => {
    const task = asObject(value) ?? {}
    return {
      taskId: asText(task.task_id),
      taskType: asText(task.task_type),
      description: asText(task.description),
    }
  })
  const message =
    tasks.length === 0 ? 'Nothing runs in the background' : `In the background: ${tasks.length} running`
  return [status(state, 'task', { message, data: { tasks } })]
}

/** The event's own `tool_use_id` is made up; the tool that runs is the "parent". */
export function translateToolProgress(state: TranslatorState, event: ClaudeToolProgressEvent): UIEvent[] {
  const toolUseId = asText(event.parent_tool_use_id) ?? asText(event.tool_use_id)
  const seconds = asNumber(event.elapsed_time_seconds)
  const name = asText(event.tool_name) ?? 'Tool'
  return [
    status(state, 'tool_progress', {
      message:
        seconds === undefined
          ? `${name} is running`
          : `${name} has been running for ${Math.round(seconds)} s`,
      toolUseId,
      parentToolUseId: state.tools.get(toolUseId ?? '')?.parentToolUseId,
      data: { toolName: name, elapsedSeconds: seconds, taskId: asText(event.task_id) },
    }),
  ]
}

function taskLine(what: string, taskStatus: string): string {
  return taskStatus === 'running' ? what : `${what} (${taskStatus})`
}

function levelOf(taskStatus: string | undefined): StatusEvent['level'] {
  return taskStatus === 'failed' ? 'warn' : 'info'
}

function taskUsage(value: unknown): JsonObject | undefined {
  const usage = asObject(value)
  if (!usage) return undefined
  return {
    totalTokens: asNumber(usage.total_tokens) ?? 0,
    toolUses: asNumber(usage.tool_uses) ?? 0,
    durationMs: asNumber(usage.duration_ms) ?? 0,
  }
}
