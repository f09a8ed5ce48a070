import { MAX_QUEUE_BYTES, type QueueState } from './queue-file.ts'
import { type GivenMessage, type QueuedMessage, queueError } from './queued-message.ts'

// What can be done to a queue. Each gives the queue as it is then, or throws a CodedError<QueueErrorCode>.

export function withMessage(state: QueueState, queued: QueuedMessage, place: 'first' | 'last'): QueueState {
  const at = place === 'last' ? state.messages.length : firstFree(state)
  return checked({ ...state, messages: inserted(state.messages, at, queued) })
}

export function withEdit(state: QueueState, id: string, message: string): QueueState {
  const at = find(state, id)
  return checked({
    ...state,
    messages: state.messages.map((queued, i) => (i === at ? { ...queued, message } : queued)),
  })
}

/** 0 is next; but what is on its way stays first. */
export function withMove(state: QueueState, id: string, index: number): QueueState {
  const at = find(state, id)
  const moved = state.messages[at]
  const others = state.messages.filter((_, i) => i !== at)
  const to = Math.max(firstFree(state), Math.min(index, others.length))
  return moved === undefined ? state : { ...state, messages: inserted(others, to, moved) }
}

export function withoutMessage(state: QueueState, id: string): QueueState {
  find(state, id)
  return dropped(state, id)
}

export function withoutWaiting(state: QueueState): QueueState {
  return { ...state, messages: state.messages.filter(({ id }) => id === state.sending) }
}

export function dropped(state: QueueState, id: string): QueueState {
  return { ...state, messages: state.messages.filter(queued => queued.id !== id) }
}

export function withGiven(state: QueueState, message: GivenMessage): QueueState {
  return checked({ ...state, given: [...state.given, message] })
}

export function withoutGiven(state: QueueState, ids: ReadonlySet<string>): QueueState {
  if (!state.given.some(({ id }) => ids.has(id))) return state
  return { ...state, given: state.given.filter(({ id }) => !ids.has(id)) }
}

/** What the agent did not take comes first, in the order in which it was given. */
export function withReturned(state: QueueState, ids: ReadonlySet<string>): QueueState {
  const returned = state.given.filter(({ id }) => ids.has(id)).map(({ afterSeq, ...queued }) => queued)
  if (returned.length === 0) return state
  const at = firstFree(state)
  const messages = [...state.messages.slice(0, at), ...returned, ...state.messages.slice(at)]
  return { ...withoutGiven(state, ids), messages }
}

const MAX_MESSAGES = 200
/** For what is around the messages. */
const ROOM_BYTES = 4096

function find(state: QueueState, id: string): number {
  const at = state.messages.findIndex(queued => queued.id === id)
  if (at === -1)
    throw queueError('queue-not-found', `No message ${id} waits in the queue. It may have been sent.`)
  if (state.sending === id)
    throw queueError('queue-sending', 'This message is being sent. Interrupt its turn instead.')
  return at
}

function firstFree({ sending }: QueueState): number {
  return sending === null ? 0 : 1
}

function inserted(messages: QueuedMessage[], at: number, queued: QueuedMessage): QueuedMessage[] {
  return [...messages.slice(0, at), queued, ...messages.slice(at)]
}

function checked(state: QueueState): QueueState {
  if (state.messages.length + state.given.length > MAX_MESSAGES)
    throw queueError('queue-full', `No more than ${MAX_MESSAGES} messages can wait. Remove some, or wait.`)
  const bytes = Buffer.byteLength(JSON.stringify([state.messages, state.given]))
  if (bytes < MAX_QUEUE_BYTES - ROOM_BYTES) return state
  const limit = `${MAX_QUEUE_BYTES / 1024 / 1024} MiB`
  throw queueError(
    'queue-full',
    `Messages and images in the queue are over ${limit}. Send images with a turn of their own.`,
  )
}
