import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileNow } from '../files/atomic-write.ts'
import { realFileOps } from '../files/file-ops.ts'
import { requireSessionId } from '../files/session-id.ts'
import { startError } from '../session-errors.ts'

/**
 * The sessions that are on their way to another machine, in the user's data folder: no turn of them begins here, also
 * after a restart, until the move is over or given up.
 */
export class LeavingSessions {
  readonly #folder: string

  constructor(home: string) {
    this.#folder = join(home, 'leaving')
  }

  get(sessionId: string): Move | undefined {
    try {
      const { id, from, to } = JSON.parse(readFileSync(this.#file(sessionId), 'utf8')) as Partial<Move>
      return typeof id === 'string' && typeof from === 'string' && typeof to === 'string'
        ? { id, from, to }
        : undefined
    } catch {
      return undefined
    }
  }

  set(sessionId: string, move: Move): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    writeFileNow(realFileOps, this.#file(sessionId), JSON.stringify(move))
  }

  clear(sessionId: string): void {
    rmSync(this.#file(sessionId), { force: true })
  }

  /** Throws if no turn may begin. */
  require(sessionId: string): void {
    const move = this.get(sessionId)
    if (move !== undefined)
      throw startError(
        'busy',
        `This session is being moved to the machine ${move.to}. Go on there. If that machine never comes back: chirality fleet keep ${sessionId}`,
      )
  }

  #file(sessionId: string): string {
    return join(this.#folder, `${requireSessionId(sessionId)}.json`)
  }
}

/** A move of a session from one machine to another. Its id also names the worktree that it gets there. */
export interface Move {
  id: string
  from: string
  to: string
}
