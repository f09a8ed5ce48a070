/** Which tasks the agent runs in the background: while there are any, a process that has answered may live on. */
export class BackgroundTasks {
  private readonly ids = new Set<string>()

  get running(): number {
    return this.ids.size
  }

  see(native: unknown): void {
    if (typeof native !== 'object' || native === null) return
    const { type, subtype, task_id, patch, tasks } = native as Record<string, unknown>
    if (type !== 'system') return
    if (subtype === 'background_tasks_changed' && Array.isArray(tasks)) {
      this.ids.clear()
      for (const task of tasks) if (typeof task?.task_id === 'string') this.ids.add(task.task_id)
    }
    if (typeof task_id !== 'string') return
    if (subtype === 'task_started') this.ids.add(task_id)
    if (subtype === 'task_notification') this.ids.delete(task_id)
    if (subtype === 'task_updated' && ENDED.has(String((patch as { status?: unknown } | null)?.status))) {
      this.ids.delete(task_id)
    }
  }
}

const ENDED = new Set(['completed', 'failed', 'killed', 'stopped', 'cancelled'])
