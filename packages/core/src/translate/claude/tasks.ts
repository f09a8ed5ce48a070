import type { ClaudeToolProgressEvent } from '../../native/claude/other-events.ts'
import type {
  ClaudeBackgroundTasksEvent,
  ClaudeTaskEvent,
  ClaudeTaskUpdatedEvent,
} from '../../native/claude/system-events.ts'
import { asArray, asNumber, asObject, asText, type JsonObject } from '../../native/loose.ts'
import type { StatusEvent, UIEvent } from '../../ui-event.ts'
import type { Task, TranslatorState } from './state.ts'
import { headline, status } from './ui.ts'

/** Work that runs beside the conversation: sub-agents, and commands that take a while. */
export function translateTask(state: TranslatorState, event: ClaudeTaskEvent): UIEvent[] {
  // Housekeeping of the agent; it asks not to be shown.
  if (event.skip_transcript === true) return []
  const taskId = asText(event.task_id)
  const { toolUseId, description } = rememberTask(state, taskId, event)
  const taskStatus = event.subtype === 'task_notification' ? (asText(event.status) ?? 'ended') : 'running'
  const summary = asText(event.summary)
  const what = headline(summary ?? asText(event.description) ?? description ?? 'Task')
  return [
    status(state, 'task', {
      message: event.subtype === 'task_started' ? `Started: ${what}` : taskLine(what, taskStatus),
      level: levelOf(taskStatus),
      toolUseId,
      data: {
        taskId,
        status: taskStatus,
        description: asText(event.description) ?? description,
        summary,
        taskType: asText(event.task_type),
        subagentType: asText(event.subagent_type),
        background: asBoolean(event.is_backgrounded),
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
  const task = state.tasks.get(taskId ?? '')
  const taskStatus = asText(patch.status)
  const error = asText(patch.error)
  const description = asText(patch.description) ?? task?.description
  const line = taskLine(description ?? 'Task', taskStatus ?? 'changed')
  return [
    status(state, 'task', {
      message: error ? `${line}: ${headline(error)}` : line,
      level: levelOf(taskStatus),
      toolUseId: task?.toolUseId,
      data: { taskId, status: taskStatus, description, error, background: asBoolean(patch.is_backgrounded) },
    }),
  ]
}

/** All that runs in the background now; it replaces the list before it. */
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
  const message = tasks.length === 0 ? 'Nothing in the background' : `In the background: ${tasks.length}`
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

function rememberTask(state: TranslatorState, taskId: string | undefined, event: ClaudeTaskEvent): Task {
  const known = state.tasks.get(taskId ?? '')
  const task = {
    toolUseId: asText(event.tool_use_id) ?? known?.toolUseId,
    description: known?.description ?? asText(event.description),
  }
  if (taskId) state.tasks.set(taskId, task)
  return task
}

function taskLine(what: string, taskStatus: string): string {
  return taskStatus === 'running' ? what : `${what} (${taskStatus})`
}

function levelOf(taskStatus: string | undefined): StatusEvent['level'] {
  return taskStatus === 'failed' ? 'warn' : 'info'
}

function taskUsage(value: unknown): JsonObject | undefined {
  const usage = asObject(value)
  return (
    usage && {
      totalTokens: asNumber(usage.total_tokens) ?? 0,
      toolUses: asNumber(usage.tool_uses) ?? 0,
      durationMs: asNumber(usage.duration_ms) ?? 0,
    }
  )
}

function asBoolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}
