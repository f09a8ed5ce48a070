import type { Envelope } from '@chirality/core'
import {
  type EventText,
  joinTexts,
  type LiveSession,
  type SessionHost,
  type SessionLog,
} from '@chirality/sessions'

/** When a reader can take more: a connection that is full makes the reader of the log wait. */
export interface Pace {
  /** Resolves when the next batch may be sent. False if the reader has left. */
  turn(): Promise<boolean>
}

/** The reader of a turn, until it leaves. */
export interface PacedReader {
  pace: Pace
  signal: AbortSignal
}

export interface ReadPace {
  pace: Pace
  signal?: AbortSignal | undefined
  /** The reader restores texts that came in pieces. */
  textOnce?: boolean | undefined
}

/** Waits for the reader before it reads on: unsent events stay in the log and use no memory. */
export async function* eventBatches(
  log: SessionLog,
  after: number,
  { pace, signal }: ReadPace,
): AsyncGenerator<Envelope[]> {
  const subscription = log.subscribe(after)
  const end = () => void subscription.return?.()
  signal?.addEventListener('abort', end)
  // An already-aborted signal never fires; without this check an idle session would keep the subscription open.
  if (signal?.aborted) end()
  try {
    for await (const envelopes of subscription) {
      if (!(await pace.turn())) return
      yield envelopes
    }
  } finally {
    signal?.removeEventListener('abort', end)
    end()
  }
}

/** Envelopes that are JSON already, as the log has them. Only a caller that `takesJson` can be sent them. */
export class JsonEvents {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Like `eventBatches`, for a socket: JSON text of the log, and events that arrived meanwhile in the same batch. */
export class EventTexts {
  readonly #log: SessionLog
  readonly #reading: ReadPace
  readonly #subscription: AsyncIterableIterator<EventText>

  constructor(log: SessionLog, after: number, reading: ReadPace) {
    this.#log = log
    this.#reading = reading
    this.#subscription = log.subscribeText(after, reading)
    reading.signal?.addEventListener('abort', this.close)
    // An already-aborted signal never fires; without this check an idle session would keep the subscription open.
    if (reading.signal?.aborted) this.close()
  }

  /** Undefined if the reader has left, or no more events follow. */
  async next(): Promise<EventText | undefined> {
    const first = await this.#subscription.next()
    if (first.done || !(await this.#reading.pace.turn())) return undefined
    const texts: EventText[] = [first.value]
    const { from } = first.value
    let { to } = first.value
    let chars = first.value.text.length
    while (to - from < MAX_BATCH_EVENTS && chars < MAX_BATCH_CHARS && to < this.#log.lastSeq) {
      const more = await this.#subscription.next()
      if (more.done) break
      texts.push(more.value)
      chars += more.value.text.length
      to = more.value.to
    }
    return joinTexts(texts)
  }

  readonly close = (): void => {
    this.#reading.signal?.removeEventListener('abort', this.close)
    void this.#subscription.return?.()
  }
}

const MAX_BATCH_EVENTS = 512
/** The limit of the data that waits beyond the buffer of a full connection. */
const MAX_BATCH_CHARS = 128 * 1024

export interface TurnStream {
  host: Pick<SessionHost, 'onStatus'>
  session: LiveSession
  turnId: string
  /** Events of the turn come after it. */
  after: number
}

/** The events of a turn of this machine. */
export function turnEvents(
  { host, session, turnId, after }: TurnStream,
  stream: PacedReader,
): AsyncGenerator<Envelope[]> {
  const settled = (_: number, signal: AbortSignal) => turnOver(host, session, { turnId, signal })
  return eventsOfTurn({ log: session.log, turnId, after, settled }, stream)
}

interface LoggedTurn {
  log: SessionLog
  turnId: string
  /** Events of the turn come after it. */
  after: number
  /** Resolves with the number of the turn's last event, which may come after its `turn:end`. */
  settled(endSeq: number, signal: AbortSignal): Promise<number>
}

/** The events of one turn up to its last, which can come after `turn:end`. The turn goes on if the reader leaves. */
export async function* eventsOfTurn(turn: LoggedTurn, stream: PacedReader): AsyncGenerator<Envelope[]> {
  const { log, turnId, after, settled } = turn
  const { pace, signal } = stream
  let lastSeq: number | undefined
  for await (const batch of eventBatches(log, after, { pace, signal })) {
    const ours = batch.filter(envelope => envelope.turnId === turnId)
    if (ours.length > 0) yield ours
    const end = lastSeq === undefined ? ours.find(({ event }) => event.type === 'turn:end') : undefined
    // Later events belong to other turns, and there may always be more of them.
    if (end !== undefined) lastSeq = await settled(end.seq, signal)
    if (lastSeq !== undefined && (batch.at(-1)?.seq ?? 0) >= lastSeq) return
  }
}

/** Resolves when the session has finished the turn: no event of it follows. */
function turnOver(
  host: Pick<SessionHost, 'onStatus'>,
  session: LiveSession,
  { turnId, signal }: { turnId: string; signal: AbortSignal },
): Promise<number> {
  const isOver = () => signal.aborted || session.status.phase === 'idle' || session.status.turnId !== turnId
  return new Promise(resolve => {
    const check = () => {
      if (!isOver()) return
      stop()
      signal.removeEventListener('abort', check)
      resolve(session.log.lastSeq)
    }
    const stop = host.onStatus(check)
    signal.addEventListener('abort', check)
    check()
  })
}
