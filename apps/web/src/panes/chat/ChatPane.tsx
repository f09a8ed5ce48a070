import { useEffect, useImperativeHandle, useRef, useState } from 'react'
import { useSession } from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { VirtualList, type VirtualListHandle } from '../../ui/virtual/VirtualList.tsx'
import { estimateRow } from './estimate-row.ts'
import { FirstMessage } from './FirstMessage.tsx'
import { RowView } from './RowView.tsx'
import { type ChatRow, turnStarts } from './rows.logic.ts'
import { useChatRows } from './use-chat-rows.ts'
import './chat.css'

export interface ChatHandle {
  jumpTurn(direction: -1 | 1): void
  jumpToTurn(turnId: string): void
  jumpToEnd(): void
}

interface ChatPaneProps {
  ref?: React.Ref<ChatHandle>
  turnId?: string | undefined
  /** The event to show, of this turn where there is one. */
  at?: number | undefined
}

export function ChatPane({ ref, turnId, at }: ChatPaneProps) {
  const list = useRef<VirtualListHandle>(null)
  const loaded = useSession(snapshot => snapshot.loaded)
  const whole = useSession(snapshot => snapshot.whole)
  const { rows } = useChatRows()
  const [away, setAway] = useState(false)

  const opened = useRef<string | undefined>(undefined)
  useEffect(() => {
    const place = `${turnId}@${at}`
    if ((turnId === undefined && at === undefined) || opened.current === place) return
    const index = at === undefined ? rowOfTurn(rows, turnId) : rowOfEvent(rows, at)
    if (index < 0) return
    // Of a turn that the end of the log begins with, the start is still to come.
    if (whole || index > 0) opened.current = place
    list.current?.toIndex(index)
  }, [rows, whole, turnId, at])
  const found = at === undefined ? undefined : rows[rowOfEvent(rows, at)]?.key

  const jumpTurn = (direction: -1 | 1) => {
    const first = list.current?.firstVisible() ?? 0
    const starts = turnStarts(rows)
    const target =
      direction < 0 ? starts.findLast(index => index < first) : starts.find(index => index > first)
    if (target !== undefined) list.current?.toIndex(target)
    else if (direction > 0) list.current?.toEnd()
  }
  useImperativeHandle(ref, () => ({
    jumpTurn,
    jumpToTurn(id) {
      const index = rowOfTurn(rows, id)
      if (index >= 0) list.current?.toIndex(index)
    },
    jumpToEnd: () => list.current?.toEnd(),
  }))

  return (
    <div className="chat">
      <VirtualList
        ref={list}
        label="Conversation"
        className="chat__scroll"
        rowClassName="chat__row"
        count={rows.length}
        estimate={index => estimateRow(rows[index])}
        keyOf={index => rows[index]?.key ?? index}
        row={index => {
          const row = rows[index]
          if (!row) return null
          return row.key === found ? (
            <div className="chat__found">
              <RowView row={row} />
            </div>
          ) : (
            <RowView row={row} />
          )
        }}
        before={loaded && rows.length === 0 ? <FirstMessage /> : null}
        onAway={setAway}
      />
      {away && rows.length > 0 ? (
        <div className="chat__jumps">
          <IconButton icon="up" label="Previous turn" onClick={() => jumpTurn(-1)} />
          <IconButton icon="down" label="Next turn" onClick={() => jumpTurn(1)} />
          <Button size="small" onClick={() => list.current?.toEnd()}>
            <Icon name="end" size={14} /> Latest
          </Button>
        </div>
      ) : null}
    </div>
  )
}

/** An item is known by the event that it began with; what came later of it is in the same row. */
export function rowOfEvent(rows: readonly ChatRow[], seq: number): number {
  return rows.findLastIndex(row => row.kind === 'item' && row.node.item.seq <= seq)
}

function rowOfTurn(rows: readonly ChatRow[], turnId: string | undefined): number {
  return rows.findIndex(row => row.kind === 'item' && row.node.item.turnId === turnId)
}
