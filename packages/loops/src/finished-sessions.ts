import { OneAfterTheOther } from '@chirality/disk'
import type { SessionHost } from '@chirality/sessions'
import type { LoopState, TaskState } from './loop-state.ts'

/** Sessions of finished tasks. They are closed when nobody watches them, so that their agents do not stay in memory. */
export class FinishedSessions {
  readonly #host: Pick<SessionHost, 'letGo'>
  readonly #state: LoopState
  readonly #open = new Set<string>()
  readonly #closing = new OneAfterTheOther()

  constructor(host: Pick<SessionHost, 'letGo'>, state: LoopState) {
    this.#host = host
    this.#state = state
  }

  /** Resolves when no session is being closed. A task that starts earlier could be in a session about to be closed. */
  settled(): Promise<void> {
    return this.#closing.settled()
  }

  /** Closes the sessions of a finished task. A session that somebody watches is tried again after the next task. */
  close({ sessionId, handed = [], earlier = [] }: TaskState): Promise<void> {
    for (const id of [sessionId, ...[...handed, ...earlier].map(before => before.sessionId)])
      this.#open.add(id)
    return this.#closing.run(async () => {
      for (const task of this.#state.tasks.values())
        if (task.status === 'working') this.#open.delete(task.sessionId)
      for (const id of this.#open) if (await this.#host.letGo(id).catch(() => true)) this.#open.delete(id)
    })
  }
}
