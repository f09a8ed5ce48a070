import type { JsonObject } from '../../common/json.ts'

/** A Codex thread, read through the app-server or from its files. */
export interface ThreadHistory {
  id: string
  cwd: string
  model?: string | undefined
  version?: string | undefined
  createdAt?: string | undefined
  updatedAt?: string | undefined
  turns: ThreadTurn[]
  /** Lines that could not be read, or parents of a fork that no longer exist. */
  missing: number
}

export interface ThreadTurn {
  id: string
  /** The app-server's value: `completed`, `failed`, `interrupted`, or `inProgress` if the turn has no end. */
  status: string
  error?: unknown
  durationMs?: number | undefined
  /** In the app-server's form, with `startedAtMs` and `completedAtMs`. */
  items: JsonObject[]
}
