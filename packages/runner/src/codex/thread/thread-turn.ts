import { setImmediate as nextLoopTurn } from 'node:timers/promises'
import {
  type AskedDecision,
  decisionTold,
  type Guard,
  type HarnessQuery,
  type PermissionRequestEvent,
  type Session,
  type UIEvent,
} from '@chirality/core'
import { Wake } from '../../common/wake.ts'
import { RpcError, type RpcRequest } from '../../process/json-rpc.ts'
import { versionNotice } from '../../turn/agent-version.ts'
import type { Connection, ConnectionEnd, Requests, TurnParts } from '../../turn/connection.ts'
import type { AgentLease } from '../../turn/kept-agents.ts'
import { askGuard } from '../../turn/questions.ts'
import { failed, restarted, type StopReason, stopped } from '../../turn/turn-events.ts'
import type { AppServer } from '../app-server/app-server.ts'
import type { ThreadFeed } from '../app-server/thread-feed.ts'
import { endsTurn, type ThreadMessage } from '../app-server/thread-message.ts'
import { CODEX } from '../config.ts'
import { CODEX_EFFORT, CODEX_VERSIONS } from '../descriptor.ts'
import type { CodexInput } from '../options/input.ts'
import { withInstructions } from '../options/instructions.ts'
import { type CodexPermissions, isFreeInMode, sandboxPolicy } from '../options/permissions.ts'
import { codexAnswer } from './decisions.ts'
import type { OpenThread } from './open-thread.ts'
import { type ThreadTurnFacts, ThreadView } from './thread-view.ts'

export interface ThreadTurnOptions {
  session: Session
  lease: AgentLease<AppServer>
  thread: OpenThread
  facts: ThreadTurnFacts
  /** The server's messages about the thread. */
  feed: ThreadFeed
  query: HarnessQuery
  permissions: CodexPermissions
  input: CodexInput
  parts: TurnParts
  guard?: Guard | undefined
  /** How long an interrupted turn may take to end before the server is killed. */
  interruptGraceMs: number
  /** Input of further messages, kept until the turn is over: Codex may read its files at any time. */
  read(prompt: HarnessQuery['prompt']): Promise<CodexInput>
}

/** One turn of one thread of an app-server. The process is kept. */
export class ThreadTurn implements Connection {
  readonly requests: Requests
  readonly #options: ThreadTurnOptions
  readonly #server: AppServer
  readonly #view: ThreadView
  readonly #wake = new Wake()
  /** Requests by the id that the user is shown. */
  readonly #asked = new Map<string, RpcRequest>()
  #hasBegun = false
  /** The request that starts the turn was sent. */
  #isSent = false
  #turnId: string | null = null
  #interrupted = false
  #ended = false
  #escalation: NodeJS.Timeout | undefined
  #offset = -1
  #failure: unknown

  constructor(options: ThreadTurnOptions) {
    const { session, lease, feed, facts } = options
    this.#options = options
    this.#server = lease.agent
    this.#view = new ThreadView(session, facts)
    feed.onNews = () => this.#wake.notify()
    this.requests = {
      rule: request => this.#rule(request),
      answer: (request, asked) => this.#answer(request, asked),
    }
  }

  get threadId(): string {
    return this.#options.thread.id
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  get offset(): number {
    return this.#offset
  }

  get isQuiet(): boolean {
    return this.#ended
  }

  /** Starts the turn; ends after its last message, or with the server. Leaving the loop early stops the turn. */
  async *batches(): AsyncGenerator<UIEvent[], void> {
    this.#hasBegun = true
    try {
      yield [...this.#view.opening(), ...this.#notices()]
      // A stop arrived while the first events were emitted.
      if (this.#options.parts.stop.reason) return
      await this.#start()
      while (!this.#ended) {
        const batch = await this.#next()
        if (!batch) break
        yield batch
      }
      this.#ended = true
    } catch (error) {
      this.#failure = error
    } finally {
      if (this.#isSent) await this.#finish()
    }
  }

  /** Sends more input to the running turn. False if there is none. */
  async send(prompt: HarnessQuery['prompt']): Promise<boolean> {
    if (!this.#hasBegun) return false
    const input = await this.#options.read(prompt)
    if (!this.#turnId || this.#ended) return false
    const { thread } = this.#options
    const params = { threadId: thread.id, input: userInput(input), expectedTurnId: this.#turnId }
    try {
      await this.#server.request('turn/steer', params)
      return true
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      this.#server.refused('turn/steer', error)
      return false
    }
  }

  /** The server may be ended with the turn only if no other session uses it. */
  async stop(reason: StopReason): Promise<void> {
    if (reason === 'killed' && this.#options.lease.holders() === 1)
      await this.#server.stop({ interruptGraceMs: 0 })
    else this.#interrupt()
  }

  async end(): Promise<ConnectionEnd> {
    const events = this.#view.end()
    const { outcome } = this.#view
    return { events, outcome, isFinished: outcome === 'completed', fault: this.#fault() }
  }

  async close(): Promise<void> {
    const { lease, thread, parts } = this.#options
    try {
      this.#server.leave(thread.id)
      await lease.release()
    } catch (error) {
      parts.log.write('error', 'turn:release', { error: String(error) })
    }
  }

  #fault(): ConnectionEnd['fault'] {
    const server = this.#server
    const why = server.process.fault ?? 'The next turn starts it again.'
    const said = server.isUsable ? this.#failure : new Error(`Codex ended before the turn did. ${why}`)
    const { error, code } = failed(this.#options.session.id, said)
    return { error, code, reason: server.isUsable ? 'failed' : 'crashed' }
  }

  /** Notices about the version, in the first turn of a session, and about the exit of the previous server. */
  #notices(): UIEvent[] {
    const { session, lease, parts } = this.#options
    const { version } = this.#server.features
    const release = { version, versions: CODEX_VERSIONS, name: CODEX.name }
    const notice = session.claudeSessionId === null ? versionNotice(session.id, release) : undefined
    const lost = lease.lost === undefined ? [] : [restarted(session.id, `${CODEX.name} ${lease.lost}`)]
    return [...(notice ? [notice] : []), ...lost].map(event => parts.record.note(event, this.#offset))
  }

  /** Not awaited: after an interrupted turn Codex may leave a second interrupt unanswered. */
  #interrupt(): void {
    const { thread, interruptGraceMs } = this.#options
    if (this.#ended || !this.#isSent) return
    this.#interrupted = true
    // A server that does not end an interrupted turn is broken for its other sessions too.
    this.#escalation ??= setTimeout(() => void this.#server.stop({ interruptGraceMs: 0 }), interruptGraceMs)
    if (this.#turnId) this.#server.send('turn/interrupt', { threadId: thread.id, turnId: this.#turnId })
  }

  #answer(event: PermissionRequestEvent, asked: AskedDecision): UIEvent | undefined {
    const { requestId, input } = event
    const request = this.#asked.get(requestId)
    if (!request) return undefined
    this.#asked.delete(requestId)
    const { result, decision, note } = codexAnswer(request, input, asked.decision)
    if (result) this.#server.respond(request.id, result)
    else this.#server.respondError(request.id, decision.message ?? 'denied')
    this.#view.answered(requestId)
    return decisionTold(event, { ...asked, decision }, note)
  }

  /** The decision of the guard and the mode, if they decide without a person. */
  async #rule(event: PermissionRequestEvent): Promise<AskedDecision | undefined> {
    const { kind, toolName, input, toolUseId } = event
    const { guard, query } = this.#options
    if (!guard || kind !== 'tool') return undefined
    const verdict = await askGuard(guard, { toolName, input, toolUseId })
    if (verdict.effect === 'deny') {
      const { reason: message, rule } = verdict
      return {
        decision: { behavior: 'deny', message },
        by: 'policy',
        ...(rule === undefined ? {} : { rule }),
      }
    }
    const isWatched = guard.hasRules || guard.protects
    if (verdict.effect === 'ask' || !isWatched || !isFreeInMode(query, event)) return undefined
    return { decision: { behavior: 'allow' }, by: 'policy', rule: `permission mode ${query.permissionMode}` }
  }

  async #start(): Promise<void> {
    const { thread, query, permissions } = this.#options
    const roots = [query.cwd, ...(query.additionalDirectories ?? [])]
    this.#isSent = true
    const response = await this.#request('turn/start', {
      threadId: thread.id,
      cwd: query.cwd,
      input: userInput(this.#input()),
      approvalPolicy: permissions.approval,
      sandboxPolicy: sandboxPolicy(permissions.sandbox, roots),
      ...(query.model ? { model: query.model } : {}),
      ...(query.thinking ? { effort: CODEX_EFFORT[query.thinking] } : {}),
      ...(query.outputSchema ? { outputSchema: query.outputSchema } : {}),
    })
    const id = (response.turn as { id?: unknown } | undefined)?.id
    this.#turnId = typeof id === 'string' ? id : null
    if (query.model) this.#server.loaded.set(thread.id, query.model)
    if (thread.instructions !== undefined) this.#server.instructions.set(thread.id, thread.instructions)
    if (this.#interrupted) this.#interrupt()
  }

  #input(): Pick<CodexInput, 'text' | 'images'> {
    const { input, thread } = this.#options
    if (thread.instructions === undefined) return input
    return { ...input, text: withInstructions(thread.instructions, input.text) }
  }

  /** After a refusal no turn runs; after a missing answer one may. */
  async #request(method: string, params: unknown): Promise<Record<string, unknown>> {
    try {
      return await this.#server.request(method, params)
    } catch (error) {
      this.#ended = error instanceof RpcError && error.code !== null
      throw error
    }
  }

  /** Undefined if the server has exited and all messages were taken. */
  async #next(): Promise<UIEvent[] | undefined> {
    const { feed } = this.#options
    while (true) {
      const batch: UIEvent[] = []
      let bytes = 0
      let taken = feed.take()
      // A slow reader gets the messages that wait in the spool in pieces.
      while (typeof taken !== 'string') {
        batch.push(...this.#show(taken))
        bytes += taken.bytes
        if (this.#ended || bytes >= MAX_BATCH_BYTES) return batch
        taken = feed.take()
      }
      if (batch.length > 0) return batch
      if (taken === 'end') return undefined
      if (taken === 'nothing') await this.#wake.wait()
      else await nextLoopTurn()
    }
  }

  #show({ raw, request, offset }: ThreadMessage): UIEvent[] {
    const events = this.#view.show(raw)
    this.#offset = offset
    this.#ended ||= endsTurn(raw, this.#options.thread.id, this.#turnId)
    for (const event of events) if (event.type === 'permission:resolved') this.#asked.delete(event.requestId)
    if (request) this.#note(request, events)
    return events.map(event => this.#inOurWords(event))
  }

  #note(request: RpcRequest, events: UIEvent[]): void {
    const shown = events.find(event => event.type === 'permission:request')
    if (shown) this.#asked.set(shown.requestId, request)
    // A request that cannot be shown to a person.
    else this.#server.respondError(request.id, `Chirality does not do ${request.method}.`)
  }

  /** Codex reports that the turn was interrupted, but not why. */
  #inOurWords(event: UIEvent): UIEvent {
    const { reason } = this.#options.parts.stop
    if (event.type !== 'session:error' || event.code !== 'interrupted' || !reason) return event
    return { ...event, ...stopped(event.sessionId, reason) }
  }

  /** Runs however the loop was left: no work of the turn goes on, and open requests are refused. */
  async #finish(): Promise<void> {
    if (!this.#ended) await this.#stopTurn()
    this.#ended = true
    // Refused only after the end, because a turn with an answered request goes on. A sub-agent that outlives the turn
    // would otherwise wait forever.
    for (const { id } of this.#asked.values()) this.#server.respondError(id, TURN_IS_OVER)
    this.#asked.clear()
    clearTimeout(this.#escalation)
    if (this.#interrupted) await this.#cleanCommands()
  }

  async #stopTurn(): Promise<void> {
    // A turn without an id cannot be interrupted.
    if (!this.#turnId) return void (await this.#server.stop({ interruptGraceMs: 0 }))
    this.#interrupt()
    while (!this.#ended && (await this.#next()));
  }

  /**
   * An interrupt ends the turn, but not the command that it was running. If that cannot be ended alone, because this
   * Codex lacks the method, refuses or does not answer, the server is ended with it.
   */
  async #cleanCommands(): Promise<void> {
    const { thread, interruptGraceMs } = this.#options
    const server = this.#server
    // A thread that was unloaded meanwhile has already been cleaned up, and the server goes on for others.
    const isGone = () => !server.isUsable || !server.loaded.has(thread.id)
    if (isGone()) return
    try {
      await server.request(CLEAN, { threadId: thread.id }, AbortSignal.timeout(interruptGraceMs))
    } catch (error) {
      if (isGone()) return
      server.refused(CLEAN, error)
      await server.stop({ interruptGraceMs: 0 })
    }
  }
}

const MAX_BATCH_BYTES = 256 * 1024
const CLEAN = 'thread/backgroundTerminals/clean'
const TURN_IS_OVER = 'The turn is over: nobody can be asked any more.'

function userInput(input: Pick<CodexInput, 'text' | 'images'>): Record<string, unknown>[] {
  const text = input.text === '' ? [] : [{ type: 'text', text: input.text, text_elements: [] }]
  return [...text, ...input.images.map(path => ({ type: 'localImage', path }))]
}
