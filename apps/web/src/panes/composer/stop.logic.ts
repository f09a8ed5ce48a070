import type { TurnEndReason } from '@chirality/core'
import type { SessionStatus } from '../../state/server-api.ts'
import type { ProcessEnd } from '../../state/session-extras.ts'

export type StopStep =
  | { kind: 'none' }
  | { kind: 'can-stop' }
  | { kind: 'asked' }
  | { kind: 'ending' }
  /** `left` is null when the agent has no process of its own to count. */
  | { kind: 'stopped'; left: number | null }

export interface StopFacts {
  asked: { killed: boolean } | null
  busy: boolean
  reason: TurnEndReason | null
  exit: ProcessEnd | null
  phase: SessionStatus['phase']
}

/** Where the stop ladder stands. */
export function stopStep({ asked, busy, reason, exit, phase }: StopFacts): StopStep {
  if (busy) {
    if (asked === null) return { kind: 'can-stop' }
    return asked.killed || phase === 'ending' ? { kind: 'ending' } : { kind: 'asked' }
  }
  if (asked === null) return { kind: 'none' }
  if (phase === 'ending' || reason === null) return { kind: 'ending' }
  return { kind: 'stopped', left: exit?.leftRunning ?? null }
}
