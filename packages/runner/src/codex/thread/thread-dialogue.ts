import {
  type AskedDecision,
  decisionTold,
  type Guard,
  type HarnessQuery,
  type PermissionRequestEvent,
  type Session,
  type UIEvent,
} from '@chirality/core'
import { RpcError, type RpcRequest } from '../../process/json-rpc.ts'
import { versionNotice } from '../../turn/agent-version.ts'
import type { ConnectionEnd } from '../../turn/connection.ts'
import { askGuard, denied, givenAs } from '../../turn/questions.ts'
import type { RpcAnswer, RpcDialogue } from '../../turn/rpc-turn.ts'
import { failed } from '../../turn/turn-events.ts'
import type { AppServer } from '../app-server/app-server.ts'
import type { ThreadFeed } from '../app-server/thread-feed.ts'
import { endsTurn } from '../app-server/thread-message.ts'
import { CODEX } from '../config.ts'
import { CODEX_EFFORT, CODEX_VERSIONS } from '../descriptor.ts'
import type { CodexInput } from '../options/input.ts'
import { withInstructions } from '../options/instructions.ts'
import { type CodexPermissions, isFreeInMode, sandboxPolicy } from '../options/permissions.ts'
import { codexAnswer } from './decisions.ts'
import type { OpenThread } from './open-thread.ts'
import { type ThreadTurnFacts, ThreadView } from './thread-view.ts'

export interface ThreadDialogueOptions {
  session: Session
  server: AppServer
  thread: OpenThread
  facts: ThreadTurnFacts
  /** The server's messages about the thread. */
  feed: ThreadFeed
  query: HarnessQuery
  permissions: CodexPermissions
  input: CodexInput
  guard?: Guard | undefined
  interruptGraceMs: number
  /** Input of further messages, kept until the turn is over: Codex may read its files at any time. */
  read(prompt: HarnessQuery['prompt']): Promise<CodexInput>
}

/** One turn of one thread of an app-server, in the words of Codex. */
export class ThreadDialogue implements RpcDialogue {
  readonly view: ThreadView
  /** A turn with an answered request goes on, also after an interrupt. */
  readonly refusesOnInterrupt = false
  readonly #options: ThreadDialogueOptions
  readonly #server: AppServer
  #turnId: string | null = null

  constructor(options: ThreadDialogueOptions) {
    this.#options = options
    this.#server = options.server
    this.view = new ThreadView(options.session, options.facts)
  }

  onNews(listener: () => void): void {
    this.#options.feed.onNews = listener
  }

  take(): ReturnType<ThreadFeed['take']> {
    return this.#options.feed.take()
  }

  /** About the version, in the first turn of a session. */
  notices(): UIEvent[] {
    const { id, claudeSessionId } = this.#options.session
    const { version } = this.#server.features
    const release = { version, versions: CODEX_VERSIONS, name: CODEX.name }
    const notice = claudeSessionId === null ? versionNotice(id, release) : undefined
    return notice ? [notice] : []
  }

  async begin(): Promise<void> {
    const { thread, query, permissions } = this.#options
    const roots = [query.cwd, ...(query.additionalDirectories ?? [])]
    const response = await this.#server.request('turn/start', {
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
  }

  /** After a refusal no turn runs; after a missing answer one may. */
  isRefused(error: unknown): boolean {
    return error instanceof RpcError && error.code !== null
  }

  isLast(raw: unknown): boolean {
    return endsTurn(raw, this.#options.thread.id, this.#turnId)
  }

  async steer(prompt: HarnessQuery['prompt'], { isOver }: { isOver(): boolean }): Promise<boolean> {
    const input = await this.#options.read(prompt)
    if (!this.#turnId || isOver()) return false
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

  /** Not awaited: after an interrupted turn Codex may leave a second interrupt unanswered. */
  interrupt(): boolean {
    // A turn without an id cannot be interrupted.
    if (!this.#turnId) return false
    this.#server.send('turn/interrupt', { threadId: this.#options.thread.id, turnId: this.#turnId })
    return true
  }

  /** The decision of the guard and the mode, if they decide without a person. */
  async rule(event: PermissionRequestEvent): Promise<AskedDecision | undefined> {
    const { kind, toolName, input, toolUseId } = event
    const { guard, query } = this.#options
    if (!guard || kind !== 'tool') return undefined
    const verdict = await askGuard(guard, { toolName, input, toolUseId })
    if (verdict.effect === 'deny') return denied(verdict)
    const isWatched = guard.hasRules || guard.protects
    if (verdict.effect === 'ask' || !isWatched || !isFreeInMode(query, event)) return undefined
    return { decision: { behavior: 'allow' }, by: 'policy', rule: `permission mode ${query.permissionMode}` }
  }

  answer(request: RpcRequest, event: PermissionRequestEvent, asked: AskedDecision): RpcAnswer {
    const { result, decision, note } = codexAnswer(request, event.input, asked.decision)
    if (result) this.#server.respond(request.id, result)
    else this.#server.respondError(request.id, decision.message ?? 'denied')
    this.view.answered(event.requestId)
    return { told: decisionTold(event, givenAs(asked, decision), note) }
  }

  refuse({ id }: RpcRequest): void {
    this.#server.respondError(id, TURN_IS_OVER)
  }

  refuseUnknown({ id, method }: RpcRequest): void {
    this.#server.respondError(id, `Chirality does not do ${method}.`)
  }

  /**
   * An interrupt ends the turn, but not the command that it was running. If that cannot be ended alone, because this
   * Codex lacks the method, refuses or does not answer, the server is ended with it.
   */
  async over(isInterrupted: boolean): Promise<void> {
    const { thread, interruptGraceMs } = this.#options
    const server = this.#server
    // A thread that was unloaded meanwhile has already been cleaned up, and the server goes on for others.
    const isGone = () => !server.isUsable || !server.loaded.has(thread.id)
    if (!isInterrupted || isGone()) return
    try {
      await server.request(CLEAN, { threadId: thread.id }, AbortSignal.timeout(interruptGraceMs))
    } catch (error) {
      if (isGone()) return
      server.refused(CLEAN, error)
      await server.stop({ interruptGraceMs: 0 })
    }
  }

  leave(): void {
    this.#server.leave(this.#options.thread.id)
  }

  fault(failure: unknown): ConnectionEnd['fault'] {
    const server = this.#server
    const why = server.process.fault ?? 'The next turn starts it again.'
    const said = server.isUsable ? failure : new Error(`Codex ended before the turn did. ${why}`)
    const { error, code } = failed(this.#options.session.id, said)
    return { error, code, reason: server.isUsable ? 'failed' : 'crashed' }
  }

  #input(): Pick<CodexInput, 'text' | 'images'> {
    const { input, thread } = this.#options
    if (thread.instructions === undefined) return input
    return { ...input, text: withInstructions(thread.instructions, input.text) }
  }
}

const CLEAN = 'thread/backgroundTerminals/clean'
const TURN_IS_OVER = 'The turn is over: nobody can be asked any more.'

function userInput(input: Pick<CodexInput, 'text' | 'images'>): Record<string, unknown>[] {
  const text = input.text === '' ? [] : [{ type: 'text', text: input.text, text_elements: [] }]
  return [...text, ...input.images.map(path => ({ type: 'localImage', path }))]
}
