import {
  canGoOn,
  formatDuration,
  type SessionItem,
  type SessionState,
  type TurnEndReason,
  type TurnState,
} from '@chirality/core'
import { useSession, useSessionActions, useSessionStore } from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { formatCost } from '../../ui/text/format.ts'

export const TURN_END_WORDS: Readonly<Record<TurnEndReason, string>> = {
  completed: 'done',
  failed: 'failed',
  interrupted: 'stopped',
  killed: 'ended by force',
  crashed: 'cut off',
  timeout: 'took too long',
  max_turns: 'step limit reached',
  budget: 'budget reached',
}

/** End of a turn: reason, duration, cost and actions. */
export function TurnEnd({ turn }: { turn: TurnState }) {
  const store = useSessionStore()
  const actions = useSessionActions()
  const took = turn.endedAt === null ? 0 : Date.parse(turn.endedAt) - Date.parse(turn.startedAt)
  const bad = turn.reason !== null && turn.reason !== 'completed' && turn.reason !== 'interrupted'
  const { id } = turn
  const wantsOn = useSession(({ state }) => canGoOn(turn.reason) && isLastWord(state, id))
  const texts = () => turnTexts(store.get().state.items, id)
  return (
    <div className="turn-end">
      <span className={bad ? 'turn-end__bad' : undefined}>
        {turn.reason ? TURN_END_WORDS[turn.reason] : 'ended'}
      </span>
      <span className="number">{formatDuration(Math.max(0, took))}</span>
      {turn.costUsd === null ? null : (
        <span className="number">{formatCost(turn.costUsd, turn.costIsEstimate)}</span>
      )}
      {wantsOn && actions.goOn ? <Button onClick={() => actions.goOn?.(id)}>Go on</Button> : null}
      <span className="turn-end__actions">
        {id !== null && actions.showChanges ? (
          <IconButton icon="diff" label="Changes of this turn" onClick={() => actions.showChanges?.(id)} />
        ) : null}
        <CopyButton text={() => texts().answer} label="Copy the answer" />
        {actions.retry ? (
          <IconButton
            icon="retry"
            label="Retry the turn"
            onClick={() => actions.retry?.(texts().message, id)}
          />
        ) : null}
        {id !== null && actions.goBack ? (
          <IconButton icon="undo" label="Back to before this turn" onClick={() => actions.goBack?.(id)} />
        ) : null}
        {id !== null && actions.fork ? (
          <IconButton icon="fork" label="Fork from here" onClick={() => actions.fork?.(id)} />
        ) : null}
      </span>
    </div>
  )
}

/** The session rests after this turn, and the agent said or did something in it: there is something to go on with. */
function isLastWord({ phase, turns, items }: SessionState, turnId: string | null): boolean {
  if (phase !== 'idle' || turns.at(-1)?.id !== turnId) return false
  return items.findLast(item => item.turnId === turnId && FROM_AGENT.has(item.kind)) !== undefined
}

const FROM_AGENT: ReadonlySet<SessionItem['kind']> = new Set<SessionItem['kind']>([
  'text',
  'thinking',
  'tool',
])

/** Prompt of a turn and every answer of the agent itself. */
function turnTexts(
  items: readonly SessionItem[],
  turnId: string | null,
): { message: string; answer: string } {
  const own = items.filter(item => item.turnId === turnId && item.parentToolUseId === undefined)
  const message = own.flatMap(item => (item.kind === 'user' ? [item.text] : [])).join('\n\n')
  const answer = own.flatMap(item => (item.kind === 'text' ? [item.text] : [])).join('\n\n')
  return { message, answer }
}
