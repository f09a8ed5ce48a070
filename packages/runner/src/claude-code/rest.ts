import type { ClaudeEvent } from '@chirality/core'

export interface RestOptions {
  lingerMs?: number
  /** The agent rests, and yet its process neither prints nor exits. */
  onLinger(): void
}

/** Tells when an agent has answered and has nothing more to do: then its process has no reason left to live. */
export class Rest {
  readonly #options: RestOptions
  /** By id, what kind each is. */
  readonly #tasks = new Map<string, string>()
  #answered = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: RestOptions) {
    this.#options = options
  }

  /** A result has come, and no new work has begun since. */
  get answered(): boolean {
    return this.#answered
  }

  /** Answered, and nothing runs in the background: what does would bring another answer. */
  get reached(): boolean {
    return this.#answered && this.#tasks.size === 0
  }

  /** What runs in the background, by id: `local_bash` is a command, others can speak. */
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

  /** The process is gone. */
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

/** Exit hooks and the good-byes of MCP servers take a few seconds; the session is blocked meanwhile. */
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
