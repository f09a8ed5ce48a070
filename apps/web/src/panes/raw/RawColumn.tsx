import type { TurnState } from '@chirality/core'
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { useSession, useWholeSession } from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { VirtualList, type VirtualListHandle } from '../../ui/virtual/VirtualList.tsx'
import type { RawItem } from './raw-item.ts'
import { rowForKey, rowsOf } from './rows.logic.ts'
import type { TwoWayState } from './two-way-list.ts'

export interface RawColumnProps<T extends RawItem> {
  title: string
  /** In the order of the log, after the filter. */
  items: readonly T[]
  state: Pick<TwoWayState<T>, 'hasEarlier' | 'problem' | 'notes' | 'loaded'>
  chosen: string | null
  /** Changes whenever the chosen row is to be brought into view. */
  reveal: unknown
  row(item: T): ReactNode
  /** What to say when there are no rows. */
  empty: ReactNode
  onChoose(item: T): void
  onEarlier(): Promise<unknown>
  onRetry(): void
  /** Left or right: to the same row of the other column. */
  onOther(): void
}

const ROW_PX = 24
/** A row that is brought into view has some of what came before it above it. */
const ROWS_ABOVE = 4

/** One side: rows by turn, drawn as far as they are seen, at the end while it grows. */
export function RawColumn<T extends RawItem>(props: RawColumnProps<T>) {
  const { title, items, state, chosen, reveal, empty } = props
  useWholeSession()
  const turns = useSession(({ state: session }) => session.turns)
  const root = useRef<HTMLFieldSetElement>(null)
  const list = useRef<VirtualListHandle>(null)
  const [away, setAway] = useState(false)
  const rows = useMemo(() => rowsOf(items), [items])
  // What waits for rows to be read sees those that are there then.
  const latest = useRef(rows)
  latest.current = rows
  const indexOf = (key: string | null) =>
    latest.current.findIndex(row => row.kind === 'item' && row.key === key)

  const bringIntoView = (key: string) => {
    const index = indexOf(key)
    if (index >= 0 && !isInView(root.current, key)) list.current?.toIndex(Math.max(0, index - ROWS_ABOVE))
  }
  // Only when it is asked for: rows that come while somebody reads must not move what is read.
  useEffect(() => {
    if (chosen !== null) bringIntoView(chosen)
  }, [chosen, reveal])

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') props.onOther()
    else {
      const row = rows[rowForKey(rows, indexOf(chosen), event.key) ?? -1]
      if (row?.kind !== 'item') return
      props.onChoose(row.item)
      bringIntoView(row.key)
      // The list keeps the focus until the row is drawn: the one that had it may be gone before the next key.
      root.current?.querySelector<HTMLElement>('.raw__list')?.focus({ preventScroll: true })
      requestAnimationFrame(() => rowIn(root.current, row.key)?.focus({ preventScroll: true }))
    }
    event.preventDefault()
    event.stopPropagation()
  }

  const onEarlier = async () => {
    const first = rows.find(row => row.kind === 'item')?.key
    await props.onEarlier()
    requestAnimationFrame(() => first && bringIntoView(first))
  }

  return (
    <fieldset className="raw__column" ref={root} onKeyDown={onKeyDown} aria-label={title}>
      <p className="raw__title">
        {title} <span className="number raw__count">{`${items.length}${state.hasEarlier ? '+' : ''}`}</span>
      </p>
      <VirtualList
        ref={list}
        label={title}
        className="raw__list"
        count={rows.length}
        estimate={() => ROW_PX}
        keyOf={index => rows[index]?.key ?? index}
        onAway={setAway}
        row={index => {
          const row = rows[index]
          if (!row) return null
          if (row.kind === 'turn') return <TurnRow turnId={row.turnId} turns={turns} />
          const isChosen = row.key === chosen
          return (
            <button
              type="button"
              className={isChosen ? 'raw__row raw__row--on' : 'raw__row'}
              data-key={row.key}
              aria-pressed={isChosen}
              tabIndex={isChosen ? 0 : -1}
              onClick={() => props.onChoose(row.item)}
            >
              {props.row(row.item)}
            </button>
          )
        }}
        before={
          <>
            {state.hasEarlier ? (
              <Button look="quiet" size="small" className="raw__earlier" onClick={() => void onEarlier()}>
                <Icon name="up" size={12} /> Earlier
              </Button>
            ) : null}
            {state.notes.map(note => (
              <p key={note} className="raw__note">
                {note}
              </p>
            ))}
            {state.problem ? (
              <p className="raw__note" role="alert">
                {state.problem}{' '}
                <Button size="small" onClick={props.onRetry}>
                  Try again
                </Button>
              </p>
            ) : null}
            {state.loaded && rows.length === 0 ? empty : null}
            {!state.loaded && !state.problem ? <p className="raw__note">Reading…</p> : null}
          </>
        }
      />
      {away && rows.length > 0 ? (
        <Button className="raw__end" size="small" onClick={() => list.current?.toEnd()}>
          <Icon name="end" size={14} /> Latest
        </Button>
      ) : null}
    </fieldset>
  )
}

function rowIn(root: HTMLElement | null, key: string): HTMLElement | null {
  return root?.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`) ?? null
}

function isInView(root: HTMLElement | null, key: string): boolean {
  const row = rowIn(root, key)?.getBoundingClientRect()
  const list = root?.querySelector('.raw__list')?.getBoundingClientRect()
  return row !== undefined && list !== undefined && row.top >= list.top && row.bottom <= list.bottom
}

/** A turn begins here. Its number is that of the other panes. */
function TurnRow({ turnId, turns }: { turnId: string | null; turns: readonly TurnState[] }) {
  const index = turns.findIndex(({ id }) => id === turnId)
  const startedAt = turns[index]?.startedAt
  const name = index < 0 ? 'Outside of the turns' : `Turn ${index + 1}`
  return (
    <p className="raw__turn">
      {name}
      {startedAt ? <span className="number">{new Date(startedAt).toLocaleTimeString()}</span> : null}
    </p>
  )
}
