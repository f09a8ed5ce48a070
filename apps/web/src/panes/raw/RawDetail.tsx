import { useInfiniteQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { NativeLine } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { useSession } from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { formatBytes } from '../../ui/text/format.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import type { EventItem, LineItem } from './raw-item.ts'
import type { Chosen } from './use-chosen.ts'

/** What was chosen in full, and beside it what it came from or became. */
export function RawDetail({ chosen, onClose }: { chosen: Chosen; onClose(): void }) {
  const { event, line } = chosen
  return (
    <div className="raw__detail">
      <div className="raw__relation">
        <span role="status">{relationText(chosen)}</span>
        <IconButton icon="close" label="Close the details" onClick={onClose} />
      </div>
      <div className={chosen.side === 'lines' ? 'raw__pair raw__pair--lines' : 'raw__pair'}>
        {event ? <EventJson item={event} /> : null}
        {line ? <LineText item={line} /> : null}
      </div>
    </div>
  )
}

function relationText({ side, relation, line, event }: Chosen): string {
  if (relation === 'searching') return 'Looking for the other side…'
  if (relation === 'same') return 'The event came from this line.'
  if (relation === 'failed') return 'The other side could not be read.'
  if (side === 'events')
    return line
      ? 'No line says this by itself; the one before it is shown.'
      : 'There is no native line for it.'
  return event ? 'No event came from this line; the one before it is shown.' : 'There is no event for it.'
}

function EventJson({ item: { envelope } }: { item: EventItem }) {
  const text = JSON.stringify(envelope.event, null, 2)
  const label = `UI event ${envelope.seq}`
  return (
    <Part kind="JSON" label={label} name={label} text={text} copy={text} facts={envelope.at.slice(11, 23)} />
  )
}

function LineText({ item: { line, value, type } }: { item: LineItem }) {
  const { bytes, torn, offset, spool } = line
  const whole = useWholeLine(line)
  const json = whole.isWhole ? (value ?? parsed(whole.text)) : undefined
  const facts = [
    formatBytes(bytes),
    !whole.isWhole && `the first ${formatBytes(whole.text.length)} are shown`,
    torn && 'not finished',
    whole.problem,
  ].filter(Boolean)
  return (
    <Part
      kind={json === undefined ? 'text' : 'JSON'}
      label={`Native ${type}`}
      name="Native line"
      text={json === undefined ? whole.text : JSON.stringify(json, null, 2)}
      copy={whole.text}
      facts={facts.join(' · ')}
      place={`${spool} at byte ${offset}`}
    >
      {whole.isWhole ? null : (
        <Button size="small" disabled={whole.isReading} onClick={whole.readOn}>
          {whole.isReading ? 'Reading…' : 'Show more'}
        </Button>
      )}
    </Part>
  )
}

/** Only what can be laid out in a moment. */
function parsed(text: string): unknown {
  if (text.length > MAX_LAID_OUT_CHARS) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const MAX_LAID_OUT_CHARS = 1024 * 1024

interface PartProps {
  kind: 'JSON' | 'text'
  label: string
  name: string
  text: string
  /** As it was printed, not as it is laid out here. */
  copy: string
  facts: string
  place?: string
  children?: ReactNode
}

function Part({ kind, label, name, text, copy, facts, place, children }: PartProps) {
  return (
    <div className="raw__json">
      <p className="raw__label" title={place}>
        <span className="truncate">{label}</span>
        <span className="number raw__facts truncate">{facts}</span>
        {children}
        <CopyButton text={copy} label={`Copy ${name}`} />
      </p>
      <ScrollRegion className="raw__text" label={`${name} as ${kind}`}>
        <pre>{text}</pre>
      </ScrollRegion>
    </div>
  )
}

interface WholeLine {
  /** What there is of it so far, from its beginning. */
  text: string
  isWhole: boolean
  isReading: boolean
  problem: string | null
  readOn(): void
}

/** A line that was too long for the list, on demand and a piece at a time: it may be as long as all the rest. */
function useWholeLine({ id, text, bytes, cut }: NativeLine): WholeLine {
  const client = useClient()
  const sessionId = useSession(({ state }) => state.sessionId)
  const [wanted, setWanted] = useState<string | null>(null)
  const { data, error, isFetching, hasNextPage, fetchNextPage, refetch } = useInfiniteQuery({
    // With its length: one that is still being written is another one when it is read again.
    queryKey: [...client.sessions.nativeLine.queryKey({ sessionId, id }), bytes],
    queryFn: ({ pageParam }) => client.sessions.nativeLine.query({ sessionId, id, from: pageParam }),
    initialPageParam: 0,
    getNextPageParam: ({ next }) => next,
    enabled: cut && wanted === id,
    // What was printed does not change; and many of them would fill the memory of the page.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  })
  return {
    text: data?.pages.map(piece => piece.text).join('') ?? text,
    isWhole: !cut || (data !== undefined && !hasNextPage),
    isReading: isFetching,
    problem: error && messageOf(error),
    readOn: () => {
      if (wanted !== id) setWanted(id)
      else void (data ? fetchNextPage() : refetch())
    },
  }
}
