import { setTimeout as sleep } from 'node:timers/promises'
import type { CallInputs, CallOutputs } from '@chirality/client'
import {
  type Envelope,
  PERMISSION_WORDS,
  type PermissionMode,
  type PermissionRequestEvent,
  type SessionErrorCode,
  sumUsage,
  type UIEvent,
  type UsageInfo,
} from '@chirality/core'
import { type LocalServer, refusalCode } from '../../running-server.ts'
import { type EditorConnection, EditorError, type JsonObject, RPC } from './editor-connection.ts'
import { imagesOf } from './editor-images.ts'
import { type EditorUpdate, EditorUpdates } from './editor-updates.ts'
import { answeredInEditor } from './permission-card.ts'
import type { PromptContent } from './prompt-content.ts'

type StoredSession = CallOutputs['sessions']['get']

/** The answer to a prompt. */
interface PromptAnswer {
  stopReason: string
  usage?: JsonObject
}

interface OwnTurn {
  /** Null while it is prepared; with null if the server refused it. */
  started: Promise<string | null> | null
  end(outcome: PromptAnswer | EditorError): void
  /** Of all results of the turn. */
  usage: UsageInfo | null
  error: (UIEvent & { type: 'session:error' }) | null
  /** Resolves when the editor knows the room that the last answer of the model left. */
  toldRoom: Promise<void>
}

/**
 * A session of the server that an editor has open. It follows the log of the session: what happens there goes to the
 * editor, whoever caused it, so the editor and the dashboard show the same.
 */
export class EditorSession {
  readonly id: string
  readonly #editor: EditorConnection
  readonly #updates: EditorUpdates
  readonly #closed = new AbortController()
  /** The requests that the editor shows, by their ids. */
  readonly #cards = new Map<string, AbortController>()
  #cursor = 0
  #following: Promise<void> | null = null
  #turn: OwnTurn | null = null
  #ownTurnId: string | null = null
  #isCancelled = false
  #preparing: AbortController | null = null
  /** By the log, as far as it was read. */
  #runs = false
  readonly #onMode: (mode: PermissionMode) => void
  readonly #onUsage: () => Promise<void>
  #server: LocalServer
  #isLost = false

  constructor(options: {
    stored: Pick<StoredSession, 'id' | 'projectRoot' | 'status'>
    server: LocalServer
    editor: EditorConnection
    /** The permission mode has changed, in the dashboard or by the agent. */
    onMode: (mode: PermissionMode) => void
    /** An answer of the model was counted. Resolves when the editor was told. */
    onUsage: () => Promise<void>
  }) {
    this.id = options.stored.id
    this.#server = options.server
    this.#runs = options.stored.status !== 'idle'
    this.#editor = options.editor
    this.#updates = new EditorUpdates(options.stored.projectRoot)
    this.#onMode = options.onMode
    this.#onUsage = options.onUsage
  }

  get server(): LocalServer {
    return this.#server
  }

  /** The server does not answer any more. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Goes on with the server that has the session now, after what was sent already. */
  reconnect(server: LocalServer): void {
    this.#server = server
    this.#isLost = false
    this.follow()
  }

  /** Sends what happened so far; what follows is sent as it happens. */
  async replay(): Promise<void> {
    const last = await this.#lastSeq()
    for await (const envelope of this.#events(last)) await this.#show(envelope)
    await this.#askPending()
    this.follow()
  }

  /** Begins after what happened so far, which the editor has already. */
  async resume(): Promise<void> {
    this.#cursor = await this.#lastSeq()
    await this.#askPending()
    this.follow()
  }

  follow(): void {
    this.#following ??= this.#follow().finally(() => {
      this.#following = null
    })
  }

  get isAtWork(): boolean {
    return this.#turn !== null
  }

  /** Runs one turn, after `prepare`. Resolves when everything of it was sent to the editor. */
  async prompt(
    { message, images }: PromptContent,
    prepare: (signal: AbortSignal) => Promise<void>,
  ): Promise<PromptAnswer> {
    if (this.#turn) throw new EditorError(RPC.invalidRequest, AT_WORK)
    this.#isCancelled = false
    // The end of an earlier one may still come, after a restart of the server.
    this.#ownTurnId = null
    const preparing = new AbortController()
    this.#preparing = preparing
    const options = images.length > 0 ? { options: { images } } : {}
    return new Promise((resolve, reject) => {
      const end: OwnTurn['end'] = outcome => {
        if (this.#turn !== turn) return
        this.#turn = null
        if (outcome instanceof EditorError) reject(outcome)
        else resolve(outcome)
      }
      const fail = (error: unknown): null => {
        this.#turn = null
        reject(error)
        return null
      }
      const turn: OwnTurn = { end, error: null, started: null, usage: null, toldRoom: Promise.resolve() }
      this.#turn = turn
      this.follow()
      prepare(preparing.signal).then(
        () => {
          if (preparing.signal.aborted) return end({ stopReason: 'cancelled' })
          const start = this.#start({ sessionId: this.id, message, ...options })
          turn.started = start.then(({ turnId }) => turnId, fail)
        },
        (error: unknown) => {
          if (preparing.signal.aborted) end({ stopReason: 'cancelled' })
          else fail(error)
        },
      )
    })
  }

  /** The log tells the end of a turn a moment before the session takes the next one. */
  async #start(input: CallInputs['turns']['start']): Promise<{ turnId: string }> {
    const deadline = Date.now() + SETTLE_MS
    for (;;) {
      try {
        return await this.server.calls.turns.start.mutate(input)
      } catch (error) {
        const isSettling = refusalCode(error) === 'busy'
        if (!isSettling || this.#runs || Date.now() > deadline) throw error
        await sleep(RETRY_MS)
      }
    }
  }

  /** A message into the turn that runs. If the agent takes none, it waits for the next turn. */
  async steer(
    { message, images }: PromptContent,
    { waitsForPrompt }: { waitsForPrompt: boolean },
  ): Promise<{ outcome: string; reason?: string }> {
    await this.#turn?.started
    if (!this.#runs && this.#turn === null && waitsForPrompt)
      return { outcome: 'promptRequired', reason: 'noRunningTurn' }
    const options = images.length > 0 ? { options: { images } } : {}
    this.#updates.sent(message)
    const taken = await this.server.calls.turns.steer.mutate({ sessionId: this.id, message, ...options })
    return { outcome: 'steered' in taken ? 'injected' : 'startedNewTurn' }
  }

  /** Stops the work of the session, also a turn that is just being started. */
  async cancel(): Promise<void> {
    this.#isCancelled = true
    this.#preparing?.abort()
    const turn = this.#turn
    // While a prompt is prepared, the turn that runs is one that began elsewhere.
    const isBegun = turn?.started ? (await turn.started) !== null : turn === null || this.#runs
    if (isBegun) await this.server.calls.turns.interrupt.mutate({ sessionId: this.id })
  }

  /** The session stays, and so does its work, unless the editor is told otherwise. */
  close(): void {
    this.#closed.abort()
    this.#preparing?.abort()
    for (const card of this.#cards.values()) card.abort()
    this.#turn?.end({ stopReason: 'cancelled' })
  }

  send(update: EditorUpdate): Promise<boolean> {
    return this.#editor.notify('session/update', { sessionId: this.id, update })
  }

  async #lastSeq(): Promise<number> {
    const [last] = await this.server.calls.sessions.history.query({ sessionId: this.id, limit: 1 })
    return last?.seq ?? 0
  }

  /** The events after the cursor, as they come; up to `last` if it is given. */
  async *#events(last = Number.POSITIVE_INFINITY): AsyncGenerator<Envelope> {
    if (this.#cursor >= last) return
    const stop = new AbortController()
    const signal = AbortSignal.any([stop.signal, this.#closed.signal])
    const path = `/api/harness/session/${this.id}/events?as=envelopes&after=${this.#cursor}`
    try {
      for await (const envelope of await this.server.stream<Envelope>(path, { signal })) {
        this.#cursor = envelope.seq
        yield envelope
        if (envelope.seq >= last) return
      }
    } finally {
      stop.abort()
    }
  }

  async #follow(): Promise<void> {
    // A stream that ends is opened again from the cursor; a server that does not answer is an error.
    while (!this.#closed.signal.aborted) {
      try {
        for await (const envelope of this.#events()) {
          await this.#show(envelope)
          this.#note(envelope.event)
        }
      } catch (error) {
        if (this.#closed.signal.aborted) return
        const code = refusalCode(error)
        if (code === undefined && !isLost(error)) throw error
        if (code !== undefined && error instanceof Error) {
          this.#isLost = code === 'unreachable'
          // Nobody takes the answers any more.
          for (const card of this.#cards.values()) card.abort()
          this.#turn?.end(new EditorError(RPC.internal, error.message))
          return
        }
      }
      await sleep(RETRY_MS, undefined, { signal: this.#closed.signal }).catch(() => {})
    }
  }

  async #show({ event, turnId }: Envelope): Promise<void> {
    if (event.type === 'turn:start' || event.type === 'turn:end') this.#runs = event.type === 'turn:start'
    if (event.type === 'turn:start') this.#ownTurnId = (await this.#turn?.started) ?? this.#ownTurnId
    const isOwn = turnId !== null && turnId === this.#ownTurnId
    for (const update of this.#updates.of(event, isOwn)) await this.send(update)
    if (event.type === 'turn:start' && event.attachments && turnId !== null && !isOwn)
      for (const update of await imagesOf(this, turnId)) await this.send(update)
    if (!isOwn || this.#turn === null) return
    const turn = this.#turn
    if ((event.type === 'session:complete' || event.type === 'session:error') && event.usage)
      turn.usage = turn.usage === null ? event.usage : sumUsage(turn.usage, event.usage)
    if (event.type === 'session:error' && !event.recovered) turn.error = event
    if (event.type !== 'turn:end') return
    await turn.toldRoom
    turn.end(withUsage(this.#outcome(event.reason, turn.error), turn.usage))
  }

  #note(event: UIEvent): void {
    if (event.type === 'permission:request') this.#ask(event)
    if (event.type === 'usage' && event.parentToolUseId === undefined) {
      const told = this.#onUsage().catch(() => {})
      if (this.#turn) this.#turn.toldRoom = told
    }
    if (event.type === 'permission:resolved') this.#cards.get(event.requestId)?.abort()
    if (event.type === 'turn:end') for (const card of this.#cards.values()) card.abort()
    if (event.type === 'status' && event.status === 'permission_mode' && isMode(event.data?.mode))
      this.#onMode(event.data.mode)
  }

  /** Shows a request, unless a rule answers it. The first answer counts: the editor's, or one from elsewhere. */
  #ask(request: PermissionRequestEvent): void {
    const { requestId } = request
    if (this.#cards.has(requestId)) return
    const card = new AbortController()
    this.#cards.set(requestId, card)
    const asking = async () => {
      if (!(await this.#isWaiting(requestId, card.signal))) return
      const toolCall = this.#updates.asked(request)
      const ask = (options: object[], title?: string) =>
        this.#editor.request(
          'session/request_permission',
          {
            sessionId: this.id,
            toolCall: title === undefined ? toolCall : { ...toolCall, title },
            options,
          },
          card.signal,
        )
      const decision = await answeredInEditor(request, ask).catch(() => ({
        behavior: 'deny' as const,
        message: 'The editor could not ask.',
      }))
      // It was answered elsewhere, or the turn is over, or the user has stopped it.
      if (card.signal.aborted || (decision === undefined && this.#isCancelled)) return
      const given = decision ?? { behavior: 'deny' as const, message: 'The user dismissed the request.' }
      await this.server.calls.decisions.answer.mutate({ sessionId: this.id, requestId, decision: given })
    }
    void asking()
      // Somebody else was faster, which the log tells.
      .catch(() => {})
      .finally(() => this.#cards.delete(requestId))
  }

  async #pending(): Promise<PermissionRequestEvent[]> {
    const pending = await this.server.calls.decisions.pending.query({ sessionId: this.id })
    return pending.map(({ request }) => request)
  }

  async #askPending(): Promise<void> {
    for (const request of await this.#pending()) this.#ask(request)
  }

  /** Rules are asked before people. Whether they leave it open shows a moment after the event. */
  async #isWaiting(requestId: string, signal: AbortSignal): Promise<boolean> {
    for (let wait = 20; !signal.aborted; wait = Math.min(2 * wait, 1000)) {
      if ((await this.#pending()).some(request => request.requestId === requestId)) return true
      await sleep(wait, undefined, { signal }).catch(() => {})
    }
    return false
  }

  #outcome(
    reason: (UIEvent & { type: 'turn:end' })['reason'],
    error: OwnTurn['error'],
  ): PromptAnswer | EditorError {
    if (reason === 'completed') return { stopReason: 'end_turn' }
    if (this.#isCancelled || reason === 'interrupted' || reason === 'killed')
      return { stopReason: 'cancelled' }
    if (reason === 'max_turns') return { stopReason: 'max_turn_requests' }
    const stopReason = error && STOP_REASONS[error.code]
    if (stopReason) return { stopReason }
    const code = error?.code === 'auth_failed' ? RPC.authRequired : RPC.internal
    return new EditorError(code, error?.error ?? `The turn ended: ${reason}.`)
  }
}

/** The counts as the protocol has them. */
function withUsage(outcome: PromptAnswer | EditorError, usage: UsageInfo | null): PromptAnswer | EditorError {
  if (outcome instanceof EditorError || usage === null) return outcome
  const { input_tokens, output_tokens, cache_read_input_tokens = 0, cache_creation_input_tokens = 0 } = usage
  const totalTokens = input_tokens + output_tokens + cache_read_input_tokens + cache_creation_input_tokens
  const counts = { totalTokens, inputTokens: input_tokens, outputTokens: output_tokens }
  const cached = { cachedReadTokens: cache_read_input_tokens, cachedWriteTokens: cache_creation_input_tokens }
  return { ...outcome, usage: { ...counts, ...cached } }
}

const AT_WORK = 'This session is at work on a prompt. Wait for its end, or cancel it.'
const RETRY_MS = 50
const SETTLE_MS = 30_000

const STOP_REASONS: Partial<Record<SessionErrorCode, string>> = {
  context_overflow: 'max_tokens',
  refused: 'refusal',
  max_turns: 'max_turn_requests',
}

const MODES: readonly unknown[] = Object.keys(PERMISSION_WORDS)

function isMode(value: unknown): value is PermissionMode {
  return MODES.includes(value)
}

/** The connection broke, as it does when the server ends: fetch has no class for it. */
function isLost(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof Error && error.name === 'AbortError')
}
