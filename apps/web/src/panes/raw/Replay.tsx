import type { Envelope } from '@chirality/core'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useClient } from '../../state/server/use-client.ts'
import { SessionStore } from '../../state/session/session-store.ts'
import { SessionActionsContext, SessionContext } from '../../state/session/use-session.ts'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { Picker } from '../../ui/controls/Picker.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { ChatPane } from '../chat/ChatPane.tsx'
import { logAfter } from './raw-lists.ts'
import { advance } from './replay.logic.ts'

const SPEEDS = [0.5, 1, 2, 5, 20, 100] as const

/** The session once more, from any point, at any speed: the same events through the same reducer. */
export default function Replay({ sessionId, onClose }: { sessionId: string; onClose(): void }) {
  const log = useWholeLog(sessionId)
  return (
    <Dialog title="Replay" place="replay" onClose={onClose}>
      {log.problem ? <p className="replay__note">{log.problem}</p> : null}
      {log.done ? <Player sessionId={sessionId} envelopes={log.envelopes} /> : null}
      {log.done || log.problem ? null : (
        <p className="replay__note">{`${log.envelopes.length} events read`}</p>
      )}
    </Dialog>
  )
}

function Player({ sessionId, envelopes }: { sessionId: string; envelopes: readonly Envelope[] }) {
  const [place, setPlace] = useState({ index: 0, leftMs: 0 })
  const [playing, setPlaying] = useState(true)
  const [speed, setSpeed] = useState<number>(5)
  const store = useReplayStore(sessionId, envelopes, place.index)
  const atEnd = place.index >= envelopes.length

  useEffect(() => {
    if (!playing || atEnd) return
    let before = performance.now()
    let frame = requestAnimationFrame(function step(now) {
      const elapsed = (now - before) * speed
      before = now
      setPlace(current => advance(envelopes, current, elapsed))
      frame = requestAnimationFrame(step)
    })
    return () => cancelAnimationFrame(frame)
  }, [playing, atEnd, speed, envelopes])

  const seek = (index: number) => setPlace({ index, leftMs: 0 })
  return (
    <>
      <div className="replay__bar">
        <IconButton
          icon={playing && !atEnd ? 'pause' : 'play'}
          label={playing && !atEnd ? 'Pause' : 'Play'}
          onClick={() => {
            if (atEnd) seek(0)
            setPlaying(atEnd || !playing)
          }}
        />
        <input
          type="range"
          className="replay__slider"
          aria-label="Event"
          min={0}
          max={envelopes.length}
          value={place.index}
          onChange={event => {
            setPlaying(false)
            seek(Number(event.target.value))
          }}
        />
        <span className="number">{`${place.index} / ${envelopes.length}`}</span>
        <Picker
          label="Speed"
          value={String(speed)}
          options={SPEEDS.map(value => ({ value: String(value), label: `${value}×` }))}
          onChange={value => setSpeed(Number(value))}
        />
      </div>
      <div className="replay__chat">
        <SessionContext value={store}>
          <SessionActionsContext value={NOTHING}>
            <ChatPane key={store.sessionId} />
          </SessionActionsContext>
        </SessionContext>
      </div>
    </>
  )
}

const NOTHING = {}

/** Goes forward in the same store; going back starts a new one. */
function useReplayStore(sessionId: string, envelopes: readonly Envelope[], index: number): SessionStore {
  const current = useRef<{ store: SessionStore; index: number } | null>(null)
  const store = useMemo(() => {
    const known = current.current
    const isForward = known !== null && known.index <= index
    const next = isForward ? known.store : new SessionStore(sessionId, () => undefined)
    next.push(envelopes.slice(isForward ? known.index : 0, index).map(withoutWaiting))
    current.current = { store: next, index }
    return next
  }, [sessionId, envelopes, index])
  useEffect(() => store.flush(), [store, index])
  return store
}

/** Nobody can answer a request of yesterday. */
function withoutWaiting(envelope: Envelope): Envelope {
  const { event } = envelope
  if (event.type !== 'permission:request') return envelope
  const message = `Asked for a decision: ${event.toolName}`
  return {
    ...envelope,
    event: { type: 'status', sessionId: event.sessionId, status: 'notice', level: 'info', message },
  }
}

function useWholeLog(sessionId: string) {
  const client = useClient()
  const [log, setLog] = useState<{ envelopes: readonly Envelope[]; done: boolean; problem: string | null }>({
    envelopes: [],
    done: false,
    problem: null,
  })
  useEffect(() => {
    let wanted = true
    const read = async () => {
      const all: Envelope[] = []
      for (let after: number | null = 0; after !== null && wanted; ) {
        const page = await logAfter(client, sessionId, after)
        for (const envelope of page.envelopes) all.push(envelope)
        after = page.next
        if (wanted) setLog({ envelopes: all, done: after === null, problem: null })
      }
    }
    read().catch(
      (error: unknown) => wanted && setLog({ envelopes: [], done: false, problem: messageOf(error) }),
    )
    return () => {
      wanted = false
    }
  }, [client, sessionId])
  return log
}
