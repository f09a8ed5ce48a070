import type { PermissionRequestEvent } from '@chirality/core'

/** A turn that another machine makes. The session goes there with its files, and comes back with what became of them. */
export interface AwayTurn {
  /** The same for the same turn, also in the next process. */
  id: string
  sessionId: string
  /** Undefined: the one that this machine would take. */
  agent: string | undefined
  project: string
  labels: readonly string[]
  order: {
    fromSeq: number
    message: string
    request: {
      autoApproveTools?: string[]
      permissionMode?: 'acceptEdits'
      maxBudgetUsd?: number
      maxBudgetTokens?: number
      timeoutMs: number
    }
    setup: string[]
    setupMs: number
  }
  signal: AbortSignal
  isLeft: () => boolean
  onPlaced: (machine: string, why: string) => void
  onWaits: (why: string) => void
  /** Whether the turn is to be stopped because of what its agent asks. */
  onPending: (request: PermissionRequestEvent | undefined) => boolean
}

export type AwayEnd =
  | { kind: 'ended'; machine: string }
  | { kind: 'here'; why: string }
  | { kind: 'lost'; machine: string; why: string }
  | { kind: 'refused'; machine: string; why: string }
  | { kind: 'left' }

/** The machines of a fleet, for tasks with the key `where`. */
export interface AwayTurns {
  /** The machine that has the session, if it is not this one. */
  machineOf(sessionId: string): string | undefined
  run(turn: AwayTurn): Promise<AwayEnd>
}
