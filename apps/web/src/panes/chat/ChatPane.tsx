import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useImperativeHandle, useRef, useState } from 'react'
import { useSession } from '../../state/use-session.ts'
import { Button } from '../../ui/Button.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { estimateRow } from './estimate-row.ts'
import { FirstMessage } from './FirstMessage.tsx'
import { RowView } from './RowView.tsx'
import { turnStarts } from './rows.logic.ts'
import { useChatRows } from './use-chat-rows.ts'
import './chat.css'

export interface ChatHandle {
  jumpTurn(direction: -1 | 1): void
  jumpToTurn(turnId: string): void
  jumpToEnd(): void
}

/** How far from the end still counts as being there. */
const END_PX = 48
const OVERSCAN_ROWS = 6

export function ChatPane({ ref, turnId }: { ref?: React.Ref<ChatHandle>; turnId?: string | undefined }) {
  const scroller = useRef<HTMLDivElement>(null)
  const loaded = useSession(snapshot => snapshot.loaded)
  const { rows } = useChatRows()
  const [away, setAway] = useState(false)
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: index => estimateRow(rows[index]),
    getItemKey: index => rows[index]?.key ?? index,
    overscan: OVERSCAN_ROWS,
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: END_PX,
    directDomUpdates: true,
    onChange: instance => setAway(!instance.isAtEnd(END_PX)),
  })

  const opened = useRef(false)
  useEffect(() => {
    if (opened.current || rows.length === 0) return
    opened.current = true
    const index =
      turnId === undefined
        ? -1
        : rows.findIndex(row => row.kind === 'item' && row.node.item.turnId === turnId)
    if (index < 0) virtualizer.scrollToEnd()
    else virtualizer.scrollToIndex(index, { align: 'start' })
  }, [rows, turnId, virtualizer])

  useImperativeHandle(ref, () => ({
    jumpTurn(direction) {
      const first = virtualizer.range?.startIndex ?? 0
      const starts = turnStarts(rows)
      const target =
        direction < 0 ? starts.findLast(index => index < first) : starts.find(index => index > first)
      if (target !== undefined) virtualizer.scrollToIndex(target, { align: 'start' })
      else if (direction > 0) virtualizer.scrollToEnd()
    },
    jumpToTurn(id) {
      const index = rows.findIndex(row => row.kind === 'item' && row.node.item.turnId === id)
      if (index >= 0) virtualizer.scrollToIndex(index, { align: 'start' })
    },
    jumpToEnd: () => virtualizer.scrollToEnd(),
  }))

  return (
    <div className="chat">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the conversation is scrolled with the keyboard, too */}
      <section ref={scroller} className="chat__scroll" aria-label="Conversation" tabIndex={0}>
        {loaded && rows.length === 0 ? <FirstMessage /> : null}
        <div ref={virtualizer.containerRef} className="chat__rows">
          {virtualizer.getVirtualItems().map(({ index, key }) => {
            const row = rows[index]
            return row ? (
              <div key={key} className="chat__row" data-index={index} ref={virtualizer.measureElement}>
                <RowView row={row} />
              </div>
            ) : null
          })}
        </div>
      </section>
      {away && rows.length > 0 ? (
        <Button className="chat__end" size="small" onClick={() => virtualizer.scrollToEnd()}>
          <Icon name="end" size={14} /> Latest
        </Button>
      ) : null}
    </div>
  )
}
