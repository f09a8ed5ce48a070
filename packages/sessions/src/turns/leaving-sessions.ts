import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileNow } from '@chirality/disk'
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
    writeFileNow(this.#file(sessionId), JSON.stringify(move), { survives: 'kill' })
  }

  clear(sessionId: string): void {
    rmSync(this.#file(sessionId), { force: true })
  }

  /** What was said of a session that was given up, in case that the answer was lost. */
  orphan(name: string): Orphan | undefined {
    try {
      return JSON.parse(readFileSync(join(this.#folder, `${name}.orphan`), 'utf8')) as Orphan
    } catch {
      return undefined
    }
  }

  setOrphan(name: string, orphan: Orphan): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    writeFileNow(join(this.#folder, `${name}.orphan`), JSON.stringify(orphan), { survives: 'kill' })
  }

  /** Throws if no turn may begin. */
  require(sessionId: string): void {
    const move = this.get(sessionId)
    if (move === undefined) return
    const what = isRefusal(move)
      ? `The machine ${move.to} took this session over while this one was away.`
      : `This session is being moved to the machine ${move.to}.`
    throw startError(
      'busy',
      `${what} Go on there. If that machine never comes back: chirality fleet keep ${sessionId}`,
    )
  }

  #file(sessionId: string): string {
    return join(this.#folder, `${requireSessionId(sessionId)}.json`)
  }
}

/** What stays of a session on a machine that was refused. */
export interface Orphan {
  /** The events that the other machine does not have. */
  events: number
  usd: number
  /** The file of its log. */
  log: string
  /** Below this ref are its commits and its uncommitted files. */
  ref: string | undefined
}

/** A move of a session from one machine to another. Its id also names the worktree that it gets there. */
export interface Move {
  id: string
  from: string
  to: string
}

/** Whether this machine did not agree to it: another one took the session over. */
export function isRefusal({ id }: Pick<Move, 'id'>): boolean {
  return id.startsWith(REFUSAL)
}

/** How the moves are called that a machine did not agree to. */
export const REFUSAL = 'epoch-'
