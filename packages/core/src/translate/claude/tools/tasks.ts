import type { StatusEvent, UIEvent } from '../../../events/ui-event.ts'
import type { ClaudeToolProgressEvent } from '../../../native/claude/other-events.ts'
import type {
  ClaudeBackgroundTasksEvent,
  ClaudeTaskEvent,
  ClaudeTaskUpdatedEvent,
} from '../../../native/claude/system-events.ts'
import { asArray, asBoolean, asNumber, asObject, asText, type JsonObject } from '../../../native/loose.ts'
import { headline, status } from '../../shared.ts'
import type { BackgroundTask, Task, TranslatorState } from '../state.ts'

/** Work beside the conversation: sub-agents, and long commands. */
export function translateTask(state: TranslatorState, event: ClaudeTaskEvent): UIEvent[] {
  const taskId = asText(event.task_id)
  const { toolUseId, description } = rememberTask(state, taskId, event)
  // The agent's housekeeping, which it asks not to show.
  if (event.skip_transcript === true) return []
  const taskStatus = event.subtype === 'task_notification' ? (asText(event.status) ?? 'ended') : 'running'
  const summary = asText(event.summary)
  const what = headline(summary ?? asText(event.description) ?? description ?? 'Task')
  const line = summary && tellsEnd(summary, taskStatus, description) ? what : taskLine(what, taskStatus)
  return [
    status(state, 'task', {
      message: event.subtype === 'task_started' ? `Started: ${what}` : line,
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
  if (task && taskStatus && !LIVE.has(taskStatus)) task.ended = true
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

/** The event's own `tool_use_id` is artificial; the running tool is the "parent". */
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
  const over = event.subtype === 'task_notification' || known?.ended === true
  const task = {
    toolUseId: asText(event.tool_use_id) ?? known?.toolUseId,
    description: known?.description ?? asText(event.description),
    // A sub-agent that gets another message starts again under its old id.
    ended: event.skip_transcript === true || (over && event.subtype !== 'task_started'),
  }
  if (taskId) state.tasks.set(taskId, task)
  return task
}

const LIVE: ReadonlySet<string> = new Set(['pending', 'running', 'paused'])

/** Most summaries say how it ended; 2.1.197 repeats the description of a sub-agent that did its work. */
function tellsEnd(summary: string, taskStatus: string, description: string | undefined): boolean {
  if (taskStatus === 'completed') return summary !== description
  return summary.toLowerCase().includes(taskStatus)
}

export function taskLine(what: string, taskStatus: string): string {
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

/**
 * All running background tasks. A task's own events have more details, so the list is used only for tasks without any:
 * those that never started, and those that disappeared without an end.
 */
export function translateBackgroundTasks(
  state: TranslatorState,
  event: ClaudeBackgroundTasksEvent,
): UIEvent[] {
  const listed = readBackground(event)
  const events = [...state.background.keys()].flatMap(taskId => {
    const task = state.tasks.get(taskId)
    if (!task || task.ended || listed.has(taskId)) return []
    task.ended = true
    return [statusOfListed(state, taskId, 'ended')]
  })
  // A task that is new in this list may still report its start.
  const unannounced = [...state.background.keys()].filter(taskId => listed.has(taskId))
  events.push(...unannounced.flatMap(taskId => announce(state, taskId)))
  state.background = listed
  return events
}

/** Tasks that the agent listed and never reported, when a turn ends. */
export function reportUnannounced(state: TranslatorState): UIEvent[] {
  return [...state.background.keys()].flatMap(taskId => announce(state, taskId))
}

function announce(state: TranslatorState, taskId: string): UIEvent[] {
  if (state.tasks.has(taskId)) return []
  const description = state.background.get(taskId)?.description
  state.tasks.set(taskId, { toolUseId: undefined, description, ended: false })
  return [statusOfListed(state, taskId, 'running')]
}

function statusOfListed(state: TranslatorState, taskId: string, taskStatus: string): UIEvent {
  const { toolUseId, description } = state.tasks.get(taskId) ?? {}
  const taskType = state.background.get(taskId)?.taskType
  return status(state, 'task', {
    message: taskLine(description ?? 'Task', taskStatus),
    toolUseId,
    data: { taskId, status: taskStatus, description, taskType, background: true },
  })
}

function readBackground(event: ClaudeBackgroundTasksEvent): ReadonlyMap<string, BackgroundTask> {
  const listed = new Map<string, BackgroundTask>()
  for (const value of asArray(event.tasks)) {
    const task = asObject(value)
    const taskId = asText(task?.task_id)
    if (!taskId) continue
    listed.set(taskId, { taskType: asText(task?.task_type), description: asText(task?.description) })
  }
  return listed
}
