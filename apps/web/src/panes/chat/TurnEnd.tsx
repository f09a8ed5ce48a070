import type { TurnEndReason, TurnState } from '@chirality/core'
import { formatDuration, formatUsd } from '../../ui/format.ts'

const WORDS: Readonly<Record<TurnEndReason, string>> = {
  completed: 'done',
  failed: 'failed',
  interrupted: 'stopped',
  killed: 'ended by force',
  crashed: 'the agent crashed',
  timeout: 'took too long',
  max_turns: 'step limit reached',
  budget: 'budget reached',
}

/** What the turn came to: how it ended, how long it took, what it cost. */
export function TurnEnd({ turn }: { turn: TurnState }) {
  const took = turn.endedAt === null ? 0 : Date.parse(turn.endedAt) - Date.parse(turn.startedAt)
  const bad = turn.reason !== null && turn.reason !== 'completed' && turn.reason !== 'interrupted'
  return (
    <p className="turn-end">
      <span className={bad ? 'turn-end__bad' : undefined}>{turn.reason ? WORDS[turn.reason] : 'ended'}</span>
      <span className="number">{formatDuration(Math.max(0, took))}</span>
      <span className="number">{formatUsd(turn.costUsd)}</span>
    </p>
  )
}
