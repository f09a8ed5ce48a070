import type { UIEvent } from '../../../events/ui-event.ts'
import type { ClaudeBackgroundTasksEvent } from '../../../native/claude/system-events.ts'
import { asArray, asObject, asText } from '../../../native/loose.ts'
import type { BackgroundTask, TranslatorState } from '../state.ts'
import { status } from '../ui.ts'
import { taskLine } from './tasks.ts'

/**
 * All that runs in the background now. A task's own events say the same and more, so the list only speaks for tasks that
 * have none: those that never started, and those that are gone without an end.
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
  // One that is new in this list has not had the time to say that it started.
  const unannounced = [...state.background.keys()].filter(taskId => listed.has(taskId))
  events.push(...unannounced.flatMap(taskId => announce(state, taskId)))
  state.background = listed
  return events
}

/** Tasks that the agent listed and never told of, when a turn ends. */
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
