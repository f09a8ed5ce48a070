import type { JsonObject } from '../../common/json.ts'

/** A Codex thread as both ways to read it give it: through the app-server, or out of its files. */
export interface ThreadHistory {
  id: string
  cwd: string
  model?: string | undefined
  version?: string | undefined
  createdAt?: string | undefined
  updatedAt?: string | undefined
  turns: ThreadTurn[]
  /** Lines that could not be read, or threads that a fork is built on and that are gone. */
  missing: number
}

export interface ThreadTurn {
  id: string
  /** In the words of the app-server: `completed`, `failed`, `interrupted`, or `inProgress` when nothing ended it. */
  status: string
  error?: unknown
  durationMs?: number | undefined
  /** In the words of the app-server, with `startedAtMs` and `completedAtMs`. */
  items: JsonObject[]
}
