import type { ClaudeEvent } from '@chirality/core'

export interface RestOptions {
  lingerMs?: number
  /** The agent is idle, but its process neither prints nor exits. */
  onLinger(): void
}

/** Detects that an agent has answered and has no work left, so that its process can be ended. */
export class Rest {
  readonly #options: RestOptions
  /** The kind of each background task, by id. */
  readonly #tasks = new Map<string, string>()
  #answered = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: RestOptions) {
    this.#options = options
  }

  /** A result has arrived, and no work has begun since. */
  get answered(): boolean {
    return this.#answered
  }

  /** Answered, and no background task runs: a running one would cause another answer. */
  get reached(): boolean {
    return this.#answered && this.#tasks.size === 0
  }

  /** The running background tasks by id: `local_bash` is a command, the other kinds can send messages. */
  get tasks(): ReadonlyMap<string, string> {
    return this.#tasks
  }

  see(event: ClaudeEvent): void {
    if (event.type === 'result') this.#answered = true
    else if (event.type === 'system') this.#seeSystem(event)
    else if (!this.#answered) return
    clearTimeout(this.#timer)
    if (this.reached) this.#timer = setTimeout(this.#options.onLinger, this.#options.lingerMs ?? LINGER_MS)
  }

  /** The process has exited. */
  end(): void {
    clearTimeout(this.#timer)
  }

  #seeSystem(event: ClaudeEvent & { type: 'system' }): void {
    switch (event.subtype) {
      case 'init':
        this.#answered = false
        return
      case 'background_tasks_changed':
        this.#tasks.clear()
        for (const [id, kind] of listed(event.tasks)) this.#tasks.set(id, kind)
        return
      case 'task_started':
        for (const [id, kind] of listed([event])) this.#tasks.set(id, kind)
        return
      case 'task_notification':
        this.#tasks.delete(String(event.task_id))
        return
      case 'task_updated':
        if (ENDED.has(statusOf(event.patch))) this.#tasks.delete(String(event.task_id))
    }
  }
}

/** Exit hooks and the shutdown of MCP servers take a few seconds, during which the session is blocked. */
export const LINGER_MS = 10_000
const ENDED: ReadonlySet<unknown> = new Set(['completed', 'failed', 'killed', 'stopped', 'cancelled'])

function listed(tasks: unknown): [id: string, kind: string][] {
  if (!Array.isArray(tasks)) return []
  return tasks.flatMap((task: { task_id?: unknown; task_type?: unknown } | null) =>
    typeof task?.task_id === 'string' ? [[task.task_id, String(task.task_type)]] : [],
  )
}

function statusOf(patch: unknown): unknown {
  return (patch as { status?: unknown } | null | undefined)?.status
}
