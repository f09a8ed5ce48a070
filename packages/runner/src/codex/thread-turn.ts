import type {
  HarnessQuery,
  HarnessTurnOpts,
  PermissionDecision,
  PermissionRequestEvent,
} from '@chirality/core'
import { AsyncQueue } from '../async-queue.ts'
import type { AppServer, ThreadMessage } from './app-server.ts'
import { codexAnswer } from './decisions.ts'
import { CODEX_EFFORT } from './effort.ts'
import type { CodexInput } from './input.ts'
import type { RpcId } from './json-rpc.ts'
import type { OpenThread } from './open-thread.ts'
import { type CodexPermissions, sandboxPolicy } from './permissions.ts'

export interface ThreadTurnOptions {
  server: AppServer
  thread: OpenThread
  query: HarnessQuery
  permissions: CodexPermissions
  input: CodexInput
  decide?: HarnessTurnOpts['decide']
  stallMs: number
  /** How long an interrupted turn may take to end before the server is. */
  interruptGraceMs: number
}

/** What happens in a turn, in order. */
export type ThreadTurnItem =
  | { kind: 'message'; raw: unknown }
  | { kind: 'resolved'; requestId: string; decision: PermissionDecision; by: 'person' | 'policy' }
  | { kind: 'idle'; idleMs: number }

/** One turn of one thread of an app-server. */
export class ThreadTurn {
  readonly #options: ThreadTurnOptions
  readonly #items = new AsyncQueue<ThreadTurnItem>()
  readonly #asked = new Map<RpcId, { message: ThreadMessage; abort: AbortController }>()
  #turnId: string | null = null
  #interrupted = false
  #escalation: NodeJS.Timeout | undefined
  #lastItemAt = performance.now()

  constructor(options: ThreadTurnOptions) {
    this.#options = options
  }

  /** Asks Codex to start. Rejects with an RpcError when it refuses. */
  async start(): Promise<void> {
    const { server, thread, query, permissions, input } = this.#options
    const roots = [query.cwd, ...(query.additionalDirectories ?? [])]
    void this.#forward(server.thread(thread.id))
    const response = await server.request('turn/start', {
      threadId: thread.id,
      cwd: query.cwd,
      input: userInput(input),
      approvalPolicy: permissions.approval,
      sandboxPolicy: sandboxPolicy(permissions.sandbox, roots),
      ...(query.model ? { model: query.model } : {}),
      ...(query.thinking ? { effort: CODEX_EFFORT[query.thinking] } : {}),
      ...(query.outputSchema ? { outputSchema: query.outputSchema } : {}),
    })
    this.#turnId = String((response.turn as { id?: unknown } | undefined)?.id)
    if (this.#interrupted) this.interrupt()
  }

  /** Ends after the turn's last message, or with the server. */
  async *items(): AsyncGenerator<ThreadTurnItem> {
    const stall = setInterval(() => this.#watchSilence(), STALL_CHECK_MS)
    try {
      for await (const item of this.#items) {
        this.#lastItemAt = performance.now()
        yield item
        if (item.kind === 'message' && isEndOf(item.raw, this.#turnId)) return
      }
    } finally {
      clearInterval(stall)
      clearTimeout(this.#escalation)
      this.#withdrawAll()
      this.#options.server.leave(this.#options.thread.id)
      if (this.#interrupted) this.#cleanCommands()
    }
  }

  /** Never awaited: after an interrupted turn Codex may leave a second interrupt unanswered. */
  interrupt(): void {
    const { server, thread, interruptGraceMs } = this.#options
    this.#interrupted = true
    if (!this.#turnId) return
    server.send('turn/interrupt', { threadId: thread.id, turnId: this.#turnId })
    this.#escalation ??= setTimeout(() => void server.stop({ interruptGraceMs: 0 }), interruptGraceMs)
  }

  /** More input for the turn that runs. */
  async steer(text: string): Promise<void> {
    const { server, thread } = this.#options
    const input = userInput({ text, images: [] })
    await server.request('turn/steer', { threadId: thread.id, input, expectedTurnId: this.#turnId })
  }

  /** The request is on the screen now: get its answer, and give it. Whatever goes wrong means no. */
  async decide(request: PermissionRequestEvent): Promise<void> {
    const rpcId = (request.raw as { id: RpcId }).id
    const asked = this.#asked.get(rpcId)
    if (!asked?.message.request) return
    const { id, method, params } = asked.message.request
    const { decide, server } = this.#options
    const decision = await ask(decide, request, asked.abort.signal)
    if (!this.#asked.delete(rpcId)) return
    const answer = codexAnswer(method, params, decision)
    if (answer) server.respond(id, answer)
    else server.respondError(id, 'Chirality cannot answer this kind of request.')
    const by = decide ? 'person' : 'policy'
    const given: PermissionDecision = answer ? decision : { behavior: 'deny', message: 'not answerable' }
    this.#items.push({ kind: 'resolved', requestId: request.requestId, decision: given, by })
  }

  async #forward(messages: AsyncQueue<ThreadMessage>): Promise<void> {
    for await (const message of messages) {
      if (message.request) {
        this.#asked.set(message.request.id, { message, abort: new AbortController() })
      }
      this.#items.push({ kind: 'message', raw: message.raw })
    }
    this.#items.end()
  }

  #withdrawAll(): void {
    for (const { abort } of this.#asked.values()) abort.abort()
    this.#asked.clear()
  }

  /** An interrupt ends the turn, not the command that it was running. */
  #cleanCommands(): void {
    const { server, thread } = this.#options
    if (server.isAlive) server.send('thread/backgroundTerminals/clean', { threadId: thread.id })
  }

  #watchSilence(): void {
    const idleMs = Math.round(performance.now() - this.#lastItemAt)
    if (idleMs >= this.#options.stallMs) this.#items.push({ kind: 'idle', idleMs })
  }
}

const STALL_CHECK_MS = 1_000

async function ask(
  decide: HarnessTurnOpts['decide'],
  request: PermissionRequestEvent,
  signal: AbortSignal,
): Promise<PermissionDecision> {
  if (!decide) return { behavior: 'deny', message: 'Nobody is there to ask.' }
  try {
    return await decide(request, signal)
  } catch (error) {
    return { behavior: 'deny', message: `The decision failed: ${String(error)}` }
  }
}

function userInput(input: Pick<CodexInput, 'text' | 'images'>): Record<string, unknown>[] {
  const text = input.text === '' ? [] : [{ type: 'text', text: input.text, text_elements: [] }]
  return [...text, ...input.images.map(path => ({ type: 'localImage', path }))]
}

function isEndOf(raw: unknown, turnId: string | null): boolean {
  const { method, params } = raw as { method?: unknown; params?: { turn?: { id?: unknown } } }
  return method === 'turn/completed' && (turnId === null || params?.turn?.id === turnId)
}
