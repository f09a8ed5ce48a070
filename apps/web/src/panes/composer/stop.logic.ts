import type { TurnEndReason } from '@chirality/core'
import type { SessionStatus } from '../../state/server/answers.ts'
import type { ProcessEnd } from '../../state/session/session-extras.ts'
import { plural } from '../../ui/text/format.ts'

export type StopStep =
  | { kind: 'none' }
  | { kind: 'can-stop' }
  | { kind: 'asked' }
  | { kind: 'ending' }
  /** `left` is null while it is counted, and where nobody can count; without `sure` more may run than was found. */
  | { kind: 'stopped'; left: number | null; agentKept: boolean; sure: boolean }

export interface StopFacts {
  asked: { killed: boolean } | null
  busy: boolean
  reason: TurnEndReason | null
  exit: ProcessEnd | null
  phase: SessionStatus['phase']
  leftovers: { agentKept: boolean; left: number; sure: boolean } | null
}

/** Where the stop ladder stands. */
export function stopStep({ asked, busy, reason, exit, phase, leftovers }: StopFacts): StopStep {
  if (busy) {
    if (asked === null) return { kind: 'can-stop' }
    return asked.killed || phase === 'ending' ? { kind: 'ending' } : { kind: 'asked' }
  }
  if (asked === null) return { kind: 'none' }
  if (phase === 'ending' || reason === null) return { kind: 'ending' }
  if (exit?.leftRunning != null)
    return { kind: 'stopped', left: exit.leftRunning, agentKept: false, sure: true }
  const { left = null, agentKept = false, sure = false } = leftovers ?? {}
  return { kind: 'stopped', left, agentKept, sure }
}

/**
 * `Stopped · 0 processes left`, or `found` where a daemon may hide. An agent that stays for the next message is no leftover, but
 * it is said.
 */
export function stoppedWords({
  left,
  agentKept,
  sure,
}: Omit<StopStep & { kind: 'stopped' }, 'kind'>): string {
  if (left === null) return 'Stopped'
  const how = sure || left > 0 ? 'left' : 'found'
  return `Stopped · ${plural(left, 'process', 'processes')} ${how}${agentKept ? ', agent kept ready' : ''}`
}
