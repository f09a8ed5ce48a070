import type { HarnessQuery, PermissionRequestEvent, PermissionResolvedEvent } from '@chirality/core'
import { AsyncQueue } from '../async-queue.ts'
import { type Ask, askForDecision, decisionTold } from '../turn/ask.ts'
import type { AppServer } from './app-server.ts'
import { codexAnswer } from './decisions.ts'
import { CODEX_EFFORT } from './effort.ts'
import type { CodexInput } from './input.ts'
import { RpcError, type RpcId, type RpcRequest } from './json-rpc.ts'
import type { OpenThread } from './open-thread.ts'
import { type CodexPermissions, sandboxPolicy } from './permissions.ts'
import type { ThreadMessage } from './thread-news.ts'

export interface ThreadTurnOptions {
  server: AppServer
  thread: OpenThread
  /** What the server says about the thread. */
  news: AsyncQueue<ThreadMessage>
  query: HarnessQuery
  permissions: CodexPermissions
  input: CodexInput
  decide?: Ask
  stallMs: number
  /** How long an interrupted turn may take to end before the server is. */
  interruptGraceMs: number
}

/** What happens in a turn, in order. */
export type ThreadTurnItem =
  | { kind: 'message'; raw: unknown; request?: RpcRequest }
  | { kind: 'resolved'; event: PermissionResolvedEvent }
  | { kind: 'idle'; idleMs: number }

/** One turn of one thread of an app-server. */
export class ThreadTurn {
  readonly #options: ThreadTurnOptions
  readonly #items = new AsyncQueue<ThreadTurnItem>()
  readonly #asked = new Map<RpcId, { request: RpcRequest; abort: AbortController }>()
  #turnId: string | null = null
  #interrupted = false
  #ended = false
  #escalation: NodeJS.Timeout | undefined
  #lastItemAt = performance.now()

  constructor(options: ThreadTurnOptions) {
    this.#options = options
  }

  /**
   * Starts the turn; ends after its last message, or with the server. Whoever leaves early stops the turn. Throws an
   * RpcError when Codex refuses it.
   */
  async *items(): AsyncGenerator<ThreadTurnItem> {
    const stallCheckMs = Math.min(this.#options.stallMs, STALL_CHECK_MS)
    const stall = setInterval(() => this.#watchSilence(), stallCheckMs)
    try {
      await this.#start()
      for await (const item of this.#items) {
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
  async steer(text: string): Promise<boolean> {
    const { server, thread } = this.#options
    if (!this.#turnId || this.#ended) return false
    const input = userInput({ text, images: [] })
    try {
      await server.request('turn/steer', { threadId: thread.id, input, expectedTurnId: this.#turnId })
      return true
    } catch (error) {
      if (error instanceof RpcError) return false
      throw error
    }
  }

  /** The request is on the screen now: get its answer, and give it. Whatever goes wrong means no. */
  async decide(event: PermissionRequestEvent, { id }: RpcRequest): Promise<void> {
    const asked = this.#asked.get(id)
    if (!asked) return
    const { decide, server } = this.#options
    const answered = await askForDecision(decide, event, asked.abort.signal)
    if (!this.#asked.delete(id)) return
    const answer = codexAnswer(asked.request, event.input, answered.decision)
    if (answer.result) server.respond(id, answer.result)
    else server.respondError(id, answer.decision.message ?? 'denied')
    const { decision } = answer
    this.#items.push({ kind: 'resolved', event: decisionTold(event, { ...answered, decision }) })
  }

  /** For a request that nobody can be shown. */
  refuse({ id, method }: RpcRequest): void {
    if (this.#asked.delete(id)) this.#options.server.respondError(id, `Chirality does not do ${method}.`)
  }

  async #start(): Promise<void> {
    const { server, thread, query, permissions, input, news } = this.#options
    const roots = [query.cwd, ...(query.additionalDirectories ?? [])]
    void this.#forward(news)
    const response = await this.#request('turn/start', {
      threadId: thread.id,
      cwd: query.cwd,
      input: userInput(input),
      approvalPolicy: permissions.approval,
      sandboxPolicy: sandboxPolicy(permissions.sandbox, roots),
      ...(query.model ? { model: query.model } : {}),
      ...(query.thinking ? { effort: CODEX_EFFORT[query.thinking] } : {}),
      ...(query.outputSchema ? { outputSchema: query.outputSchema } : {}),
    })
    const id = (response.turn as { id?: unknown } | undefined)?.id
    this.#turnId = typeof id === 'string' ? id : null
    if (query.model) server.loaded.set(thread.id, query.model)
    if (this.#interrupted) this.interrupt()
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

  async #forward(news: AsyncQueue<ThreadMessage>): Promise<void> {
    for await (const { raw, request } of news) {
      if (request) this.#asked.set(request.id, { request, abort: new AbortController() })
      this.#items.push({ kind: 'message', raw, request })
    }
    this.#items.end()
  }

  /** Whatever way it was left: nothing of the turn goes on, and nobody is asked any more. */
  async #finish(): Promise<void> {
    for (const { abort } of this.#asked.values()) abort.abort()
    this.#asked.clear()
    if (!this.#ended) await this.#stop()
    this.#ended = true
    clearTimeout(this.#escalation)
    if (this.#interrupted) await this.#cleanCommands()
  }

  async #stop(): Promise<void> {
    const { server } = this.#options
    // Without its id a turn cannot be named, and so not interrupted.
    if (!this.#turnId) return void (await server.stop({ interruptGraceMs: 0 }))
    this.interrupt()
    for await (const item of this.#items) if (this.#isEnd(item)) return
  }

  /** An interrupt ends the turn, not the command that it was running. */
  async #cleanCommands(): Promise<void> {
    const { server, thread } = this.#options
    if (!server.isUsable) return
    await server.request('thread/backgroundTerminals/clean', { threadId: thread.id }).catch(() => {})
  }

  #isEnd(item: ThreadTurnItem): boolean {
    if (item.kind !== 'message') return false
    const { method, params } = item.raw as { method?: unknown; params?: { turn?: { id?: unknown } } }
    if (method !== 'turn/completed') return false
    return this.#turnId === null || params?.turn?.id === this.#turnId
  }

  /** While a person is asked, the silence is theirs. */
  #watchSilence(): void {
    const idleMs = Math.round(performance.now() - this.#lastItemAt)
    if (idleMs < this.#options.stallMs || this.#asked.size > 0) return
    this.#lastItemAt = performance.now()
    this.#items.push({ kind: 'idle', idleMs })
  }
}

const STALL_CHECK_MS = 1_000

function userInput(input: Pick<CodexInput, 'text' | 'images'>): Record<string, unknown>[] {
  const text = input.text === '' ? [] : [{ type: 'text', text: input.text, text_elements: [] }]
  return [...text, ...input.images.map(path => ({ type: 'localImage', path }))]
}
