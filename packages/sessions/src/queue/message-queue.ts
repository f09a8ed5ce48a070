import { randomUUID } from 'node:crypto'
import type { FileOps } from '@chirality/disk'
import { KeyedQueue } from '@chirality/disk'
import { EMPTY_QUEUE, isEmpty, MAX_QUEUE_BYTES, QueueFile, type QueueState } from './queue-file.ts'
import { type GivenMessage, type QueuedMessage, queueError } from './queued-message.ts'
import type { TurnRequest } from './turn-request.ts'

export interface MessageQueueOptions {
  projectRoot: string
  sessionId: string
  onChange: () => void
  /** The user released the queue. */
  onRelease: () => void
  ops?: FileOps
}

/** Messages that wait for the running turn to end. Every change is on the disk before it is reported. */
export class MessageQueue {
  readonly #file: QueueFile
  readonly #changes = new KeyedQueue()
  readonly #onChange: () => void
  readonly #onRelease: () => void
  #state: QueueState = EMPTY_QUEUE

  private constructor(options: MessageQueueOptions) {
    this.#file = new QueueFile(options.projectRoot, options.sessionId, options.ops)
    this.#onChange = options.onChange
    this.#onRelease = options.onRelease
  }

  static async open(options: MessageQueueOptions): Promise<MessageQueue> {
    const queue = new MessageQueue(options)
    queue.#state = await queue.#file.read()
    return queue
  }

  get held(): boolean {
    return this.#state.held
  }

  /** The id of the message that is being sent. */
  get sending(): string | null {
    return this.#state.sending
  }

  /** Messages given to the running turn that the agent has not taken yet. */
  get given(): readonly GivenMessage[] {
    return this.#state.given
  }

  list(): QueuedMessage[] {
    return [...this.#state.messages]
  }

  edit(id: string, message: string): Promise<void> {
    return this.#change(state => withEdit(state, id, message))
  }

  /** Index 0 is next. */
  move(id: string, index: number): Promise<void> {
    return this.#change(state => withMove(state, id, index))
  }

  remove(id: string): Promise<void> {
    return this.#change(state => withoutMessage(state, id))
  }

  clear(): Promise<void> {
    return this.#change(withoutWaiting)
  }

  hold(): Promise<void> {
    return this.#change(state => ({ ...state, held: true }))
  }

  /** Sends the first message, if no turn is running. */
  async release(): Promise<void> {
    await this.#change(state => ({ ...state, held: false }))
    this.#onRelease()
  }

  /** The methods below are for the session, which calls them in step with its turns. */
  async add(message: string, request: TurnRequest, place: 'first' | 'last'): Promise<QueuedMessage> {
    const queued = newMessage(message, request)
    await this.#change(state => withMessage(state, queued, place))
    return queued
  }

  /** Stores a message before it is given to the running turn. */
  async give(message: string, request: TurnRequest, afterSeq: number): Promise<GivenMessage> {
    const given = { ...newMessage(message, request), afterSeq }
    await this.#change(state => withGiven(state, given))
    return given
  }

  /** The agent has taken these messages, and the log has recorded it. */
  taken(ids: ReadonlySet<string>): Promise<void> {
    return this.#change(state => withoutGiven(state, ids))
  }

  /** The agent did not take these messages: they go first. */
  takeBack(ids: ReadonlySet<string>, { hold }: { hold: boolean }): Promise<void> {
    return this.#change(state => {
      const returned = withReturned(state, ids)
      return returned === state ? state : { ...returned, held: state.held || hold }
    })
  }

  /** The next message to send, marked as being sent. Undefined when there is none, or another is being sent. */
  async take(): Promise<QueuedMessage | undefined> {
    let taken: QueuedMessage | undefined
    await this.#change(state => {
      taken = state.held || state.sending !== null ? undefined : state.messages[0]
      return taken === undefined ? state : { ...state, sending: taken.id }
    })
    return taken
  }

  /** The turn of this message has started, and the log has recorded it. */
  sent(id: string): Promise<void> {
    return this.#change(state => ({ ...dropped(state, id), sending: null }))
  }

  /** The turn did not start: the message stays in the queue. */
  notSent({ hold }: { hold: boolean }): Promise<void> {
    return this.#change(state => ({ ...state, sending: null, held: state.held || hold }))
  }

  /** Writes the file again if it was deleted. */
  async repair(): Promise<boolean> {
    if (isEmpty(this.#state) || (await this.#file.exists())) return false
    await this.#change(state => ({ ...state }))
    return true
  }

  #change(change: (state: QueueState) => QueueState): Promise<void> {
    return this.#changes.run('', async () => {
      const state = change(this.#state)
      if (state === this.#state) return
      await this.#file.write(state)
      this.#state = state
      this.#onChange()
    })
  }
}

function newMessage(message: string, request: TurnRequest): QueuedMessage {
  const { clientTools, signal, ...kept } = request
  if (clientTools?.length || signal)
    throw queueError(
      'queue-not-keepable',
      'Client tools and signals cannot wait in the queue. Start the turn instead.',
    )
  return { id: randomUUID(), message, queuedAt: new Date().toISOString(), request: kept }
}

// The operations on a queue. Each returns the new state or throws a CodedError<QueueErrorCode>.

function withMessage(state: QueueState, queued: QueuedMessage, place: 'first' | 'last'): QueueState {
  const at = place === 'last' ? state.messages.length : firstFree(state)
  return checked({ ...state, messages: inserted(state.messages, at, queued) })
}

function withEdit(state: QueueState, id: string, message: string): QueueState {
  const at = find(state, id)
  return checked({
    ...state,
    messages: state.messages.map((queued, i) => (i === at ? { ...queued, message } : queued)),
  })
}

/** Index 0 is next, but a message that is being sent stays first. */
function withMove(state: QueueState, id: string, index: number): QueueState {
  const at = find(state, id)
  const moved = state.messages[at]
  const others = state.messages.filter((_, i) => i !== at)
  const to = Math.max(firstFree(state), Math.min(index, others.length))
  return moved === undefined ? state : { ...state, messages: inserted(others, to, moved) }
}

function withoutMessage(state: QueueState, id: string): QueueState {
  find(state, id)
  return dropped(state, id)
}

function withoutWaiting(state: QueueState): QueueState {
  return { ...state, messages: state.messages.filter(({ id }) => id === state.sending) }
}

function dropped(state: QueueState, id: string): QueueState {
  return { ...state, messages: state.messages.filter(queued => queued.id !== id) }
}

function withGiven(state: QueueState, message: GivenMessage): QueueState {
  return checked({ ...state, given: [...state.given, message] })
}

function withoutGiven(state: QueueState, ids: ReadonlySet<string>): QueueState {
  if (!state.given.some(({ id }) => ids.has(id))) return state
  return { ...state, given: state.given.filter(({ id }) => !ids.has(id)) }
}

/** Messages that the agent did not take go first, in their original order. */
function withReturned(state: QueueState, ids: ReadonlySet<string>): QueueState {
  const returned = state.given.filter(({ id }) => ids.has(id)).map(({ afterSeq, ...queued }) => queued)
  if (returned.length === 0) return state
  const at = firstFree(state)
  const messages = [...state.messages.slice(0, at), ...returned, ...state.messages.slice(at)]
  return { ...withoutGiven(state, ids), messages }
}

const MAX_MESSAGES = 200
/** The size of the JSON around the messages. */
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
