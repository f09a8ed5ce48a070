import type { PermissionMode } from '@chirality/core'
import { Grants } from '../permissions/grants.ts'

/** What holds for a session beyond one of its turns. */
export interface RememberedSession {
  grants: Grants
  mode?: PermissionMode
}

/** Of the sessions that were used last. One that is forgotten asks again. */
export class SessionMemory {
  readonly #sessions = new Map<string, RememberedSession>()

  of(sessionId: string): RememberedSession {
    const session = this.#sessions.get(sessionId) ?? { grants: new Grants() }
    this.#sessions.delete(sessionId)
    this.#sessions.set(sessionId, session)
    const [oldest] = this.#sessions.keys()
    if (this.#sessions.size > MAX_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest)
    return session
  }

  forget(sessionId: string): void {
    this.#sessions.delete(sessionId)
  }

  clear(): void {
    this.#sessions.clear()
  }
}

const MAX_SESSIONS = 1000
