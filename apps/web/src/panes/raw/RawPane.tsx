import type { Envelope } from '@chirality/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { lazy, Suspense, useMemo, useState } from 'react'
import { useApi } from '../../state/use-api.ts'
import { useSession } from '../../state/use-session.ts'
import { Button } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { ScrollRegion } from '../../ui/ScrollRegion.tsx'
import { VirtualList } from '../../ui/virtual/VirtualList.tsx'
import { filterEnvelopes, nativeOf, summaryOf } from './raw.logic.ts'
import './raw.css'

const Replay = lazy(() => import('./Replay.tsx'))

const PAGE_EVENTS = 500
const ROW_PX = 24

/** The log as it is: each event, and what the agent printed for it. */
export default function RawPane({ sessionId }: { sessionId: string }) {
  const api = useApi()
  const lastSeq = useSession(({ state }) => Math.floor(state.seq / REFRESH_EVENTS))
  const [filter, setFilter] = useState('')
  const [chosen, setChosen] = useState<Envelope | null>(null)
  const [replaying, setReplaying] = useState(false)
  const { data, fetchNextPage, hasNextPage, isPending } = useInfiniteQuery({
    queryKey: ['log', sessionId, lastSeq],
    queryFn: ({ pageParam }) => api.readLogBefore(sessionId, pageParam, PAGE_EVENTS),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: page => ((page[0]?.seq ?? 1) > 1 ? page[0]?.seq : null),
    placeholderData: before => before,
  })
  const envelopes = useMemo(() => [...(data?.pages ?? [])].reverse().flat(), [data])
  const shown = useMemo(() => filterEnvelopes(envelopes, filter), [envelopes, filter])
  return (
    <div className="raw">
      <div className="raw__bar">
        <input
          className="input"
          type="search"
          aria-label="Filter events"
          placeholder="Filter: tool -delta"
          value={filter}
          onChange={event => setFilter(event.target.value)}
        />
        <Button onClick={() => setReplaying(true)}>
          <Icon name="play" size={12} /> Replay
        </Button>
      </div>
      <VirtualList
        label="Events"
        className="raw__log"
        count={shown.length}
        estimate={() => ROW_PX}
        keyOf={index => shown[index]?.seq ?? index}
        row={index => {
          const envelope = shown[index]
          if (!envelope) return null
          return (
            <RawRow
              envelope={envelope}
              on={envelope.seq === chosen?.seq}
              onChoose={() => setChosen(envelope)}
            />
          )
        }}
        before={
          <>
            {hasNextPage ? (
              <Button look="quiet" size="small" onClick={() => void fetchNextPage()}>
                Earlier events
              </Button>
            ) : null}
            {!isPending && shown.length === 0 ? (
              <Empty title={filter ? 'No event matches' : 'No events yet'} />
            ) : null}
          </>
        }
      />
      {chosen ? <Detail envelope={chosen} /> : null}
      <Suspense>
        {replaying ? <Replay sessionId={sessionId} onClose={() => setReplaying(false)} /> : null}
      </Suspense>
    </div>
  )
}

/** The list is read again after so many events, not after each. */
const REFRESH_EVENTS = 25

function RawRow({ envelope, on, onChoose }: { envelope: Envelope; on: boolean; onChoose(): void }) {
  return (
    <button
      type="button"
      className={on ? 'raw__row raw__row--on' : 'raw__row'}
      aria-pressed={on}
      onClick={onChoose}
    >
      <span className="number">{envelope.seq}</span>
      <span className="raw__type">{envelope.event.type}</span>
      <span className="raw__summary truncate">{summaryOf(envelope)}</span>
    </button>
  )
}

function Detail({ envelope }: { envelope: Envelope }) {
  const native = nativeOf(envelope)
  return (
    <div className="raw__detail">
      <Json label={`UI event ${envelope.seq} · ${envelope.at.slice(11, 23)}`} value={envelope.event} />
      {native === undefined ? null : <Json label="Native event" value={native} />}
    </div>
  )
}

function Json({ label, value }: { label: string; value: unknown }) {
  const text = JSON.stringify(value, null, 2)
  return (
    <section className="raw__json" aria-label={label}>
      <p className="raw__label">
        {label}
        <CopyButton text={text} />
      </p>
      <ScrollRegion className="raw__text" label={`${label} as JSON`}>
        <pre>{text}</pre>
      </ScrollRegion>
    </section>
  )
}
