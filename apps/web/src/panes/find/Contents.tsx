import { formatDuration, type TurnState, type UserItem } from '@chirality/core'
import { type KeyboardEvent, useMemo } from 'react'
import { useSession, useWholeSession } from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { formatCost, plural } from '../../ui/text/format.ts'
import { TURN_END_WORDS } from '../chat/TurnEnd.tsx'
import './contents.css'

interface ContentsProps {
  /** The turn that is in view. */
  current: string | null
  onTurn(turnId: string): void
  onFind(): void
  onClose(): void
}

/** The turns of the conversation by what was asked in each; one is gone to by a click or by the arrow keys and Enter. */
export default function Contents({ current, onTurn, onFind, onClose }: ContentsProps) {
  useWholeSession()
  const whole = useSession(snapshot => snapshot.whole)
  const items = useSession(({ state }) => state.items)
  const turns = useSession(({ state }) => state.turns)
  const asked = useMemo(() => items.filter(item => item.kind === 'user'), [items])
  const byId = useMemo(() => new Map(turns.map(turn => [turn.id, turn])), [turns])
  const shown = asked.some(({ turnId }) => turnId === current) ? current : asked.at(-1)?.turnId
  return (
    <Dialog title="Contents" place="right" onClose={onClose}>
      <div className="contents">
        <p className="contents__head">
          <span role="status">
            {whole ? plural(asked.length, 'turn') : 'The latest turns; the earlier ones are being loaded…'}
          </span>
          <span className="spacer" />
          <Button size="small" look="quiet" onClick={onFind}>
            <Icon name="search" size={13} /> Find in conversation <Kbd>/</Kbd>
          </Button>
        </p>
        <ol className="contents__list" aria-label="Turns" onKeyDown={move}>
          {asked.map((item, index) => (
            <li key={item.seq}>
              <button
                type="button"
                className="contents__turn"
                data-first={item.turnId === shown || undefined}
                aria-current={item.turnId === shown || undefined}
                onClick={() => item.turnId !== null && onTurn(item.turnId)}
              >
                <span className="contents__number number">{whole ? index + 1 : ''}</span>
                <span className="contents__text">{firstLine(item)}</span>
                <span className="contents__facts number">{factsOf(byId.get(item.turnId))}</span>
              </button>
            </li>
          ))}
        </ol>
      </div>
    </Dialog>
  )
}

const MAX_CHARS = 160

function firstLine({ text, attachments }: UserItem): string {
  const line = text.replace(/\s+/g, ' ').trim().slice(0, MAX_CHARS)
  return line === '' ? plural(attachments, 'attachment') : line
}

function factsOf(turn: TurnState | undefined): string {
  if (turn === undefined) return ''
  if (turn.endedAt === null) return 'running'
  const took = Math.max(0, Date.parse(turn.endedAt) - Date.parse(turn.startedAt))
  const cost = turn.costUsd === null ? '' : formatCost(turn.costUsd, turn.costIsEstimate)
  const how = turn.reason === null || turn.reason === 'completed' ? '' : TURN_END_WORDS[turn.reason]
  return [how, formatDuration(took), cost].filter(Boolean).join(' · ')
}

/** Up and down between the turns, Home and End to the first and the last one. */
function move(event: KeyboardEvent<HTMLElement>): void {
  const turns = [...event.currentTarget.querySelectorAll<HTMLElement>('button')]
  const at = turns.indexOf(event.target as HTMLElement)
  const steps: Partial<Record<string, number>> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    Home: 0,
    End: turns.length - 1,
  }
  const to = steps[event.key]
  if (to === undefined || at < 0) return
  event.preventDefault()
  turns[Math.min(Math.max(to, 0), turns.length - 1)]?.focus()
}
