import type { StatusEvent } from '@chirality/core'
import { memo } from 'react'
import { Dot } from '../../ui/marks/Dot.tsx'
import { DecisionCard } from '../decisions/DecisionCard.tsx'
import { ItemView } from './ItemView.tsx'
import type { ChatRow } from './rows.logic.ts'
import { ToolGroupView } from './ToolView.tsx'
import { TurnEnd } from './TurnEnd.tsx'

export const RowView = memo(
  function RowView({ row }: { row: ChatRow }) {
    switch (row.kind) {
      case 'item':
        return <ItemView node={row.node} />
      case 'group':
        return <ToolGroupView group={row.group} />
      case 'turn-end':
        return <TurnEnd turn={row.turn} />
      case 'decision':
        return <DecisionCard request={row.request} />
      case 'status':
        return <StatusLine status={row.status} />
    }
  },
  (before, after) => before.row === after.row || sameItem(before.row, after.row),
)

/** Rows of the open turn are made anew with every event; one whose item did not change need not be drawn again. */
function sameItem(a: ChatRow, b: ChatRow): boolean {
  if (a.kind === 'group' && b.kind === 'group') {
    const [before, after] = [a.group.tools, b.group.tools]
    return before.length === after.length && before.every((tool, index) => tool === after[index])
  }
  if (a.kind !== 'item' || b.kind !== 'item') return false
  return a.node.item === b.node.item && a.node.children.length === 0 && b.node.children.length === 0
}

/** One line that is always as high, so that nothing moves when it changes. */
function StatusLine({ status }: { status: StatusEvent | null }) {
  return (
    <p className={status?.level === 'warn' ? 'status-line status-line--warn' : 'status-line'} role="status">
      <Dot tone="work" />
      <span className="truncate">
        {status && status.status !== 'tool_progress' ? status.message || 'Working' : 'Working'}
      </span>
    </p>
  )
}
