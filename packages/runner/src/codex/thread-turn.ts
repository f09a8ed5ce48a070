import { setImmediate as nextLoopTurn } from 'node:timers/promises'
import {
  type AskedDecision,
  decisionTold,
  type Guard,
  type HarnessQuery,
  type PermissionRequestEvent,
  stalled,
} from '@chirality/core'
import { Wake } from '../process/wake.ts'
import { type Ask, askForDecision } from '../turn/ask.ts'
import { askGuard } from '../turn/guard.ts'
import type { AppServer } from './app-server.ts'
import { codexAnswer } from './decisions.ts'
import { CODEX_EFFORT } from './effort.ts'
import type { CodexInput } from './input.ts'
import { withInstructions } from './instructions.ts'
import { RpcError, type RpcId, type RpcRequest } from './json-rpc.ts'
import type { OpenThread } from './open-thread.ts'
import { type CodexPermissions, isFreeInMode, sandboxPolicy } from './permissions.ts'
import type { ThreadFeed } from './thread-feed.ts'
import { endsTurn, type ThreadItem } from './thread-item.ts'

export interface ThreadTurnOptions {
  server: AppServer
  thread: OpenThread
  sessionId: string
  /** What the server says about the thread. */
  feed: ThreadFeed
  query: HarnessQuery
  permissions: CodexPermissions
  input: CodexInput
  decide?: Ask
  guard?: Guard
  stallMs: number
  /** How long an interrupted turn may take to end before the server is. */
  interruptGraceMs: number
}

/** One turn of one thread of an app-server. */
export class ThreadTurn {
  readonly #options: ThreadTurnOptions
  /** What we have to say ourselves: it comes before what still waits in the feed. */
  readonly #told: ThreadItem[] = []
  readonly #wake = new Wake()
  readonly #asked = new Map<RpcId, { request: RpcRequest; abort: AbortController }>()
  #turnId: string | null = null
  #interrupted = false
  #ended = false
  #escalation: NodeJS.Timeout | undefined
  #lastItemAt = performance.now()

  constructor(options: ThreadTurnOptions) {
    this.#options = options
    options.feed.onNews = () => this.#wake.notify()
  }

  /**
   * Starts the turn; ends after its last message, or with the server. Whoever leaves early stops the turn. Throws an
   * RpcError when Codex refuses it.
   */
  async *items(): AsyncGenerator<ThreadItem> {
    const stallCheckMs = Math.min(this.#options.stallMs, STALL_CHECK_MS)
    const stall = setInterval(() => this.#watchSilence(), stallCheckMs)
    try {
      await this.#start()
      for (let item = await this.#next(); item; item = await this.#next()) {
        this.#lastItemAt = performance.now()
        this.#ended ||= this.#isEnd(item)
        yield item
        if (this.#ended) return
      }
      this.#ended = true
    } finally {
      clearInterval(stall)
      await this.#finish()
    }
  }

  /** Never awaited: after an interrupted turn Codex may leave a second interrupt unanswered. */
  interrupt(): void {
    const { server, thread, interruptGraceMs } = this.#options
    if (this.#ended) return
    this.#interrupted = true
    // A server that does not let go of a turn is broken for the other sessions on it too.
    this.#escalation ??= setTimeout(() => void server.stop({ interruptGraceMs: 0 }), interruptGraceMs)
    if (this.#turnId) server.send('turn/interrupt', { threadId: thread.id, turnId: this.#turnId })
  }

  /** More input for the turn that runs. False when there is none to take it. */
  async steer(input: Pick<CodexInput, 'text' | 'images'>): Promise<boolean> {
    const { server, thread } = this.#options
    if (!this.#turnId || this.#ended) return false
    const params = { threadId: thread.id, input: userInput(input), expectedTurnId: this.#turnId }
    try {
      await server.request('turn/steer', params)
      return true
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      server.refused('turn/steer', error)
      return false
    }
  }

  /** The request is on the screen now: get its answer, and give it. Whatever goes wrong means no. */
  async decide(event: PermissionRequestEvent, { id }: RpcRequest): Promise<void> {
    const asked = this.#asked.get(id)
    if (!asked) return
    const { server } = this.#options
    const answered = (await this.#ruled(event)) ?? (await this.#askPerson(event, asked.abort.signal))
    if (!this.#asked.delete(id)) return
    const answer = codexAnswer(asked.request, event.input, answered.decision)
    if (answer.result) server.respond(id, answer.result)
    else server.respondError(id, answer.decision.message ?? 'denied')
    const { decision, note } = answer
    this.#tell({ kind: 'told', event: decisionTold(event, { ...answered, decision }, note) })
  }

  #askPerson(event: PermissionRequestEvent, signal: AbortSignal): Promise<AskedDecision> {
    return askForDecision(this.#options.decide, event, signal)
  }

  /** What the guard and the mode say by themselves, so that nobody is asked. */
  async #ruled(event: PermissionRequestEvent): Promise<AskedDecision | undefined> {
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

  /** For a request that nobody can be shown. */
  refuse({ id, method }: RpcRequest): void {
    if (this.#asked.delete(id)) this.#options.server.respondError(id, `Chirality does not do ${method}.`)
  }

  async #start(): Promise<void> {
    const { server, thread, query, permissions } = this.#options
    const roots = [query.cwd, ...(query.additionalDirectories ?? [])]
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
    if (query.model) server.loaded.set(thread.id, query.model)
    if (thread.instructions !== undefined) server.instructions.set(thread.id, thread.instructions)
    if (this.#interrupted) this.interrupt()
  }

  #input(): Pick<CodexInput, 'text' | 'images'> {
    const { input, thread } = this.#options
    if (thread.instructions === undefined) return input
    return { ...input, text: withInstructions(thread.instructions, input.text) }
  }

  /** A refusal leaves nothing to stop; silence may. */
  async #request(method: string, params: unknown): Promise<Record<string, unknown>> {
    try {
      return await this.#options.server.request(method, params)
    } catch (error) {
      this.#ended = error instanceof RpcError && error.code !== null
      throw error
    }
  }

  /** Undefined when the server is gone and all was taken. */
  async #next(): Promise<ThreadItem | undefined> {
    while (true) {
      const told = this.#told.shift()
      if (told) return told
      const taken = this.#options.feed.take()
      if (taken === 'end') return undefined
      if (taken === 'nothing') await this.#wake.wait()
      else if (taken === 'later') await nextLoopTurn()
      else {
        const { request } = taken
        if (request) this.#asked.set(request.id, { request, abort: new AbortController() })
        return { kind: 'message', ...taken }
      }
    }
  }

  #tell(item: ThreadItem): void {
    this.#told.push(item)
    this.#wake.notify()
  }

  /** Whatever way it was left: nothing of the turn goes on, and nobody is asked any more. */
  async #finish(): Promise<void> {
    const unanswered = [...this.#asked.values()]
    for (const { abort } of unanswered) abort.abort()
    this.#asked.clear()
    if (!this.#ended) await this.#stop()
    this.#ended = true
    // Not before the end: a turn that is answered goes on. A sub-agent that outlives the turn would wait for ever.
    for (const { request } of unanswered) this.#options.server.respondError(request.id, TURN_IS_OVER)
    clearTimeout(this.#escalation)
    if (this.#interrupted) await this.#cleanCommands()
  }

  async #stop(): Promise<void> {
    const { server } = this.#options
    // Without its id a turn cannot be named, and so not interrupted.
    if (!this.#turnId) return void (await server.stop({ interruptGraceMs: 0 }))
    this.interrupt()
    for (let item = await this.#next(); item && !this.#isEnd(item); ) item = await this.#next()
  }

  /**
   * An interrupt ends the turn, not the command that it was running. Where that cannot be ended alone, because this Codex
   * does not know how, refuses or does not answer, it goes with the server.
   */
  async #cleanCommands(): Promise<void> {
    const { server, thread, interruptGraceMs } = this.#options
    // One that was let go of meanwhile has been cleaned up with that, and the server goes on for others.
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

  #isEnd(item: ThreadItem): boolean {
    return item.kind === 'message' && endsTurn(item.raw, this.#options.thread.id, this.#turnId)
  }

  /** While a person is asked, the silence is theirs; and while news waits to be read there is none. */
  #watchSilence(): void {
    const { sessionId, feed, stallMs } = this.#options
    const idleMs = Math.round(performance.now() - this.#lastItemAt)
    if (idleMs < stallMs || this.#asked.size > 0 || !feed.isEmpty || this.#told.length > 0) return
    this.#lastItemAt = performance.now()
    this.#tell({ kind: 'told', event: stalled(sessionId, idleMs) })
  }
}

const STALL_CHECK_MS = 1_000
const CLEAN = 'thread/backgroundTerminals/clean'
const TURN_IS_OVER = 'The turn is over: nobody can be asked any more.'

function userInput(input: Pick<CodexInput, 'text' | 'images'>): Record<string, unknown>[] {
  const text = input.text === '' ? [] : [{ type: 'text', text: input.text, text_elements: [] }]
  return [...text, ...input.images.map(path => ({ type: 'localImage', path }))]
}
