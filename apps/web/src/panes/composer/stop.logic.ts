import type { TurnEndReason } from '@chirality/core'
import type { SessionStatus } from '../../state/server-api.ts'
import type { ProcessEnd } from '../../state/session-extras.ts'
import { plural } from '../../ui/format.ts'

export type StopStep =
  | { kind: 'none' }
  | { kind: 'can-stop' }
  | { kind: 'asked' }
  | { kind: 'ending' }
  /** `left` is null while it is counted, and where nobody can count. */
  | { kind: 'stopped'; left: number | null; agentKept: boolean }

export interface StopFacts {
  asked: { killed: boolean } | null
  busy: boolean
  reason: TurnEndReason | null
  exit: ProcessEnd | null
  phase: SessionStatus['phase']
  leftovers: { agentKept: boolean; left: number } | null
}

/** Where the stop ladder stands. */
export function stopStep({ asked, busy, reason, exit, phase, leftovers }: StopFacts): StopStep {
  if (busy) {
    if (asked === null) return { kind: 'can-stop' }
    return asked.killed || phase === 'ending' ? { kind: 'ending' } : { kind: 'asked' }
  }
  if (asked === null) return { kind: 'none' }
  if (phase === 'ending' || reason === null) return { kind: 'ending' }
  if (exit?.leftRunning != null) return { kind: 'stopped', left: exit.leftRunning, agentKept: false }
  return { kind: 'stopped', left: leftovers?.left ?? null, agentKept: leftovers?.agentKept ?? false }
}

/** `Stopped · 0 processes left`. An agent that stays for the next message is no leftover, but it is said. */
export function stoppedWords({ left, agentKept }: { left: number | null; agentKept: boolean }): string {
  if (left === null) return 'Stopped'
  return `Stopped · ${plural(left, 'process', 'processes')} left${agentKept ? ', agent kept ready' : ''}`
}
