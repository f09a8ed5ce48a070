import { Suspense, useEffect, useImperativeHandle, useRef, useState } from 'react'
import { useSession, useSessionStore, useWholeSession } from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { late } from '../../ui/overlay/late.tsx'
import { VirtualList, type VirtualListHandle } from '../../ui/virtual/VirtualList.tsx'
import { FindField, type Found, FoundContext } from '../find/found.tsx'
import { FirstMessage } from './FirstMessage.tsx'
import { RowView } from './RowView.tsx'
import { buildRows, type ChatRow, type ChatRows, NO_ROWS, turnStarts } from './rows.logic.ts'
import './chat.css'
import type { SessionItem, SessionState } from '@chirality/core'

const FindBar = late(() => import('../find/FindBar.tsx'))
/** Loads the search ahead: a user who presses its key types on at once. */
const PREFETCH_MS = 1500

export interface ChatHandle {
  jumpTurn(direction: -1 | 1): void
  jumpToTurn(turnId: string): void
  jumpToEnd(): void
  /** The turn of the first row in view. */
  currentTurn(): string | null
  /** Opens the search, or goes back to its field. False where that has the focus already. */
  find(): boolean
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
  const store = useSessionStore()
  const { rows } = useChatRows()
  const [away, setAway] = useState(false)
  const area = useRef<HTMLDivElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const [isFinding, setFinding] = useState(false)
  const [text, setText] = useState('')
  const finding = { field, text, onText: setText }
  useEffect(() => {
    const timer = setTimeout(() => FindBar.preload().catch(() => undefined), PREFETCH_MS)
    return () => clearTimeout(timer)
  }, [])
  const [target, setTarget] = useState<Found | null>(null)

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
  // The place that is asked for is before the end that is loaded; so is the start of a turn that the end begins with.
  const isPlaceMissing =
    at === undefined ? turnId !== undefined && rowOfTurn(rows, turnId) <= 0 : rowOfEvent(rows, at) < 0
  useWholeSession(loaded && isPlaceMissing)
  const found = at === undefined ? undefined : rows[rowOfEvent(rows, at)]?.key

  const jumpTurn = (direction: -1 | 1) => {
    const first = list.current?.firstVisible() ?? 0
    const starts = turnStarts(rows)
    const target =
      direction < 0 ? starts.findLast(index => index < first) : starts.find(index => index > first)
    if (target !== undefined) list.current?.toIndex(target)
    else if (direction < 0) store.want('page')
    else if (direction > 0) list.current?.toEnd()
  }
  useImperativeHandle(ref, () => ({
    jumpTurn,
    jumpToTurn(id) {
      const index = rowOfTurn(rows, id)
      if (index >= 0) list.current?.toIndex(index)
      else store.want('whole')
    },
    jumpToEnd: () => list.current?.toEnd(),
    currentTurn: () => turnAt(rows, list.current?.firstVisible() ?? 0),
    find() {
      if (isFinding && document.activeElement === field.current) return false
      setFinding(true)
      field.current?.select()
      field.current?.focus()
      return true
    },
  }))

  return (
    <div className="chat" ref={area}>
      {isFinding ? (
        <Suspense
          fallback={
            <div className="find">
              <FindField {...finding} />
            </div>
          }
        >
          <FindBar
            {...{ ...finding, rows, list, area }}
            target={target}
            onTarget={setTarget}
            onClose={() => {
              setFinding(false)
              setText('')
              setTarget(null)
              area.current?.querySelector<HTMLElement>('.chat__scroll')?.focus({ preventScroll: true })
            }}
          />
        </Suspense>
      ) : null}
      <FoundContext value={target}>
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
          before={
            !loaded ? (
              <Skeleton />
            ) : whole ? (
              rows.length === 0 && <FirstMessage />
            ) : (
              <Button className="chat__earlier" look="quiet" size="small" onClick={() => store.want('page')}>
                Show earlier
              </Button>
            )
          }
          onAway={setAway}
          onStart={() => store.want('page')}
        />
      </FoundContext>
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

/** The shape of what comes, at its end as that will be; it shows only when that takes a while. */
export function Skeleton() {
  return (
    <div className="skeleton" role="status" aria-label="The conversation is being loaded">
      {['you', 'line', 'line', 'text', 'text', 'short', 'line', 'text', 'short'].map((kind, index) => (
        <span key={index} className={`skeleton__${kind}`} />
      ))}
    </div>
  )
}

/** An item is known by the event that it began with; what came later of it is in the same row. */
export function rowOfEvent(rows: readonly ChatRow[], seq: number): number {
  return rows.findLastIndex(row => (firstItem(row)?.seq ?? Number.POSITIVE_INFINITY) <= seq)
}

function rowOfTurn(rows: readonly ChatRow[], turnId: string | undefined): number {
  return rows.findIndex(row => {
    const item = firstItem(row)
    return item !== undefined && item.turnId === turnId
  })
}

/** The turn of a row; one that belongs to none, as an end, is of the turn before. */
function turnAt(rows: readonly ChatRow[], index: number): string | null {
  for (let at = index; at >= 0; at--) {
    const row = rows[at]
    const item = row && firstItem(row)
    if (item) return item.turnId
  }
  return null
}

function firstItem(row: ChatRow): SessionItem | undefined {
  if (row.kind === 'group') return row.group.tools[0]
  return row.kind === 'item' ? row.node.item : undefined
}

const LINE_PX = 21
const CHARS_PER_LINE = 100
const TOOL_PX = 28

/** A guess at the height of a row that was never shown: near enough that the scroll bar does not jump. */
function estimateRow(row: ChatRow | undefined): number {
  if (row === undefined) return LINE_PX
  if (row.kind === 'decision') return 180
  if (row.kind === 'group') return TOOL_PX
  if (row.kind !== 'item') return 34
  const { item } = row.node
  switch (item.kind) {
    case 'user':
      return 60 + textHeight(item.text)
    case 'text':
      return 16 + textHeight(item.text)
    case 'tool':
      return TOOL_PX
    default:
      return 30
  }
}

function textHeight(text: string): number {
  return Math.max(1, Math.ceil(text.length / CHARS_PER_LINE)) * LINE_PX
}

/** The rows of the session in view. They change with the structure of the conversation, not with text that grows. */
function useChatRows(): ChatRows {
  const store = useSessionStore()
  const built = useRef<{ state: SessionState | null; rows: ChatRows }>({ state: null, rows: NO_ROWS })
  return useSession(({ state }) => {
    const { current } = built
    if (current.state?.sessionId !== store.sessionId) built.current = { state, rows: buildRows(state) }
    else if (!sameStructure(current.state, state))
      built.current = { state, rows: buildRows(state, current.rows) }
    return built.current.rows
  })
}

function sameStructure(a: SessionState, b: SessionState): boolean {
  return (
    a.items === b.items &&
    a.turns === b.turns &&
    a.pending === b.pending &&
    a.activity === b.activity &&
    a.phase === b.phase &&
    isWriting(a) === isWriting(b)
  )
}

function isWriting({ live }: SessionState): boolean {
  for (const _ in live) return true
  return false
}
