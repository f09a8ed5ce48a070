import { useDeferredValue, useMemo, useRef } from 'react'
import { Button } from '../../ui/controls/Button.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { formatBytes } from '../../ui/text/format.ts'
import { filterItems } from './filter.logic.ts'
import { RawColumn } from './RawColumn.tsx'
import { RawDetail } from './RawDetail.tsx'
import type { EventItem, LineItem } from './raw-item.ts'
import type { RawLists } from './raw-lists.ts'
import type { Choice, Side } from './use-chosen.ts'
import { useTwoWay } from './use-raw-lists.ts'

interface RawViewProps {
  lists: RawLists
  choice: Choice
  filter: string
  /** The column that is seen where there is room for one. */
  shown: Side
  onFilter(filter: string): void
  onShow(side: Side): void
  onReplay(): void
  /** Undefined where it is wide already. */
  onWiden: (() => void) | undefined
}

const SIDES: readonly { side: Side; label: string }[] = [
  { side: 'events', label: 'UI events' },
  { side: 'lines', label: 'Native lines' },
]

export function RawView({ lists, choice, filter, shown, onFilter, onShow, onReplay, onWiden }: RawViewProps) {
  const root = useRef<HTMLDivElement>(null)
  const [events, lines] = [useTwoWay(lists.events), useTwoWay(lists.lines)]
  // Typing goes first; long lists follow.
  const wanted = useDeferredValue(filter)
  const shownEvents = useMemo(() => filterItems(events.items, wanted), [events.items, wanted])
  const shownLines = useMemo(() => filterItems(lines.items, wanted), [lines.items, wanted])
  const { chosen } = choice
  const toOther = (side: Side) => {
    onShow(side)
    requestAnimationFrame(() => focusColumn(root.current, side))
  }
  return (
    <div className="raw" ref={root}>
      <div className="raw__bar">
        <input
          className="input"
          type="search"
          aria-label="Filter events and lines"
          placeholder="Filter: bash -delta type:tool"
          value={filter}
          onChange={event => onFilter(event.target.value)}
        />
        {onWiden ? (
          <span className="raw__widen">
            <IconButton icon="panel" label="Side by side" onClick={onWiden} />
          </span>
        ) : null}
        <Button onClick={onReplay}>
          <Icon name="play" size={12} /> Replay
        </Button>
      </div>
      <fieldset className="raw__switch" aria-label="Which side is shown">
        {SIDES.map(({ side, label }) => (
          <button
            key={side}
            type="button"
            className="raw__side"
            aria-pressed={side === shown}
            onClick={() => onShow(side)}
          >
            {label}
          </button>
        ))}
      </fieldset>
      <div className="raw__columns" data-shown={shown}>
        <RawColumn<EventItem>
          title="UI events"
          items={shownEvents}
          state={events}
          chosen={chosen?.event?.key ?? null}
          reveal={revealKey(chosen?.relation, shown)}
          row={item => <EventCells item={item} />}
          empty={<Empty title={filter ? noMatch('event', events.hasEarlier) : 'No events yet'} />}
          onChoose={choice.chooseEvent}
          onEarlier={() => lists.events.earlier()}
          onRetry={() => void lists.events.refresh()}
          onOther={() => toOther('lines')}
        />
        <RawColumn<LineItem>
          title="Native lines"
          items={shownLines}
          state={lines}
          chosen={chosen?.line?.key ?? null}
          reveal={revealKey(chosen?.relation, shown)}
          row={item => <LineCells item={item} />}
          empty={
            filter ? (
              <Empty title={noMatch('line', lines.hasEarlier)} />
            ) : (
              <NoLines hasEvents={events.items.length > 0} hasEarlier={lines.hasEarlier} />
            )
          }
          onChoose={choice.chooseLine}
          onEarlier={() => lists.lines.earlier()}
          onRetry={() => void lists.lines.refresh()}
          onOther={() => toOther('events')}
        />
      </div>
      {chosen ? <RawDetail chosen={chosen} onClose={choice.clear} /> : null}
    </div>
  )
}

/** When the other side was found, and when another column is shown, the chosen rows are to be seen. */
function revealKey(relation: string | undefined, shown: Side): string {
  return `${relation} ${shown}`
}

function focusColumn(root: HTMLElement | null, side: Side): void {
  const column = root?.querySelectorAll('.raw__column')[side === 'events' ? 0 : 1]
  const target = column?.querySelector<HTMLElement>('.raw__row--on') ?? column?.querySelector('section')
  target?.focus()
}

function EventCells({ item: { envelope, type, summary } }: { item: EventItem }) {
  return (
    <>
      <span className="number raw__seq">{envelope.seq}</span>
      <span className="raw__type">{type}</span>
      <span className="raw__summary truncate">{summary}</span>
    </>
  )
}

function LineCells({ item: { line, type, summary } }: { item: LineItem }) {
  return (
    <>
      <span className="raw__type">{type}</span>
      {line.cut ? <span className="raw__mark">{formatBytes(line.bytes)}, cut</span> : null}
      {line.torn ? <span className="raw__mark">not finished</span> : null}
      <span className="raw__summary truncate">{summary}</span>
    </>
  )
}

/** The filter knows only what was read. */
function noMatch(what: 'event' | 'line', hasEarlier: boolean): string {
  return hasEarlier ? `No ${what} matches so far; read earlier ones` : `No ${what} matches`
}

function NoLines({ hasEvents, hasEarlier }: { hasEvents: boolean; hasEarlier: boolean }) {
  if (hasEarlier) return <Empty title="No line so far; read earlier ones" />
  if (!hasEvents) return <Empty title="Nothing printed yet" />
  return (
    <Empty title="No raw log">
      What an agent prints is kept for turns that ran here. Imported sessions, and what a fork took over, have
      none.
    </Empty>
  )
}
