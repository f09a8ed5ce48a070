import { randomUUID } from 'node:crypto'
import type { ContextUsage, PermissionMode, TurnEndReason, UIEvent } from '@chirality/core'
import type { SessionLog } from '../log/session-log.ts'
import { told } from '../log/turn-events.ts'
import type { MessageQueue } from '../queue/message-queue.ts'
import type { QueuedMessage } from '../queue/queued-message.ts'
import type { TurnRequest } from '../queue/turn-request.ts'
import { startError, toStartError } from '../session-errors.ts'
import type {
  AgentNote,
  LiveSession,
  QueuedTurn,
  SessionBudget,
  SessionChanges,
  StartedTurn,
} from '../status/live-session.ts'
import type { SessionStatus } from '../status/session-status.ts'
import type { SessionView } from '../status/session-view.ts'
import type { SessionStore } from '../store/session-store.ts'
import type { Shelf, StoredSession } from '../store/stored-session.ts'
import { BetweenTurns } from '../turns/between-turns.ts'
import type { ProjectContext } from '../turns/host-context.ts'
import type { LiveTurn } from '../turns/live-turn.ts'
import type { SessionRecorder } from '../turns/record/session-recorder.ts'
import type { SessionStateFiles } from '../turns/record/session-state-files.ts'
import { prepareTurn, sessionLimitOf } from '../turns/start-turn.ts'
import { chooseHarness } from '../turns/turn-options.ts'
import { keepable } from './host-options.ts'
import { SendQueue } from './send-queue.ts'
import { SessionTurns, Waiters } from './session-turns.ts'
import { SteeredMessages } from './steered-messages.ts'

export interface HostedSessionOptions {
  project: ProjectContext
  view: SessionView
  state: SessionStateFiles
  log: SessionLog
  recorder: SessionRecorder
  queue: MessageQueue
}

export class HostedSession implements LiveSession {
  readonly log: SessionLog
  readonly queue: MessageQueue
  readonly #project: ProjectContext
  readonly #view: SessionView
  readonly #state: SessionStateFiles
  readonly #waiters = new Waiters()
  readonly #sending: SendQueue
  readonly #steered: SteeredMessages
  readonly #plans = new ApprovedPlans()
  readonly #turns: SessionTurns
  readonly #betweenTurns: BetweenTurns
  #closed = false
  /** Agents that are being started before a turn. */
  #prewarming = 0

  constructor({ project, view, state, log, recorder, queue }: HostedSessionOptions) {
    this.log = log
    this.queue = queue
    this.#project = project
    this.#view = view
    this.#state = state
    this.#steered = new SteeredMessages({ log, queue, recorder })
    this.#sending = new SendQueue({
      sessionId: log.sessionId,
      queue,
      recorder,
      steered: this.#steered,
      isFree: () => !this.#closed && view.phase === 'idle',
      start: ({ id, message, request }) => this.#start(message, request, id),
    })
    const onEnded = (reason: TurnEndReason) => this.#sending.after(reason)
    this.#betweenTurns = new BetweenTurns({
      project,
      view,
      recorder,
      sessionLimit: () => sessionLimitOf(view),
    })
    const parts = { project, view, state, log, recorder, betweenTurns: this.#betweenTurns }
    this.#turns = new SessionTurns({ ...parts, waiters: this.#waiters, onEnded })
  }

  get id(): string {
    return this.log.sessionId
  }

  get status(): SessionStatus {
    const { queue, log } = this
    return {
      ...this.#view.facts,
      queue: queue.list(),
      steered: this.#steered.list(),
      queueHeld: queue.held,
      logHealth: log.health.state,
      policyProblem: this.#project.policyProblem(this.id),
    }
  }

  /** Nothing of it runs or waits, and nobody follows it. */
  get isAtRest(): boolean {
    const isEmpty = this.queue.list().length === 0 && this.#steered.list().length === 0
    const isIdle = this.#view.phase === 'idle' && this.#prewarming === 0
    return isIdle && isEmpty && !this.log.isFollowed && this.log.health.state === 'ok'
  }

  get stored(): StoredSession {
    return this.#view.session
  }

  start(message: string, request: TurnRequest = {}): Promise<StartedTurn> {
    return this.#start(message, request, randomUUID())
  }

  async send(message: string, request: TurnRequest = {}): Promise<StartedTurn | QueuedTurn> {
    const { queue } = this
    const isNext = this.#view.phase === 'idle' && (queue.held || queue.list().length === 0)
    return isNext ? this.start(message, request) : this.#enqueue(message, request, 'last')
  }

  async steer(
    message: string,
    request: TurnRequest = {},
  ): Promise<{ steered: true } | StartedTurn | QueuedTurn> {
    if (this.#view.phase === 'idle') return this.start(message, request)
    const { harness } = this.#turns.current ?? {}
    const canSteer = harness?.capabilities().supportsSteering ?? false
    if (!canSteer || harness?.steer === undefined) return this.#enqueue(message, request, 'first')
    const give = async () => (await harness.steer?.(this.id, message, request.images)) ?? false
    const { taken, given } = await this.#steered.steer(message, request, give)
    return taken ? { steered: true } : this.#queued(given)
  }

  interrupt(): void {
    this.#turns.interrupt()
  }

  /** Also ends an agent that is kept while no turn runs. */
  async kill(): Promise<void> {
    const hasTurn = this.#turns.current !== undefined
    await this.#turns.kill()
    if (hasTurn) return
    await Promise.all(this.#project.harnesses.getAll().map(harness => harness.kill(this.id)))
    await this.#betweenTurns.settled()
  }

  async tellAgent({ note, shown }: AgentNote): Promise<void> {
    this.#project.leaving.require(this.id)
    await this.#state.notes.add(note)
    this.log.append(told(this.id, shown), { turnId: null })
  }

  untold(): Promise<string[]> {
    return this.#state.notes.read()
  }

  async prewarm(request: TurnRequest = {}): Promise<void> {
    if (this.#view.phase !== 'idle') return
    if (this.#closed) throw startError('closed', 'The session is closed. Open it again.')
    // In use until its agent is there: one that comes after the end of the session would be nobody's.
    this.#prewarming += 1
    try {
      const { harness, plan, from } = await prepareTurn(this.#view, request, this.#project)
      if (!harness.capabilities().supportsPrewarm) return
      // Recorded before its first turn: if this process is killed, the next one finds the session.
      const { agents } = this.#state
      await agents.prepare()
      await harness.prewarm?.(from, { ...plan.opts, onProcess: process => agents.add(process) })
    } catch (error) {
      throw toStartError(error)
    } finally {
      this.#prewarming -= 1
    }
  }

  async setPermissionMode(mode: PermissionMode): Promise<'now' | 'next-turn'> {
    this.#plans.choose(mode)
    await this.#keepMode(mode)
    const { harness } = this.#turns.current ?? {}
    if (harness?.setPermissionMode === undefined) return 'next-turn'
    await harness.setPermissionMode(this.id, mode)
    return 'now'
  }

  configure({ model, thinking, mode, maxTurns }: SessionChanges): Promise<StoredSession> {
    const before = this.#view.session.settings
    const settings = {
      ...before,
      ...(model === undefined ? {} : { model }),
      thinking: thinking === undefined ? before.thinking : (thinking ?? undefined),
      maxTurns: maxTurns === undefined ? before.maxTurns : (maxTurns ?? undefined),
    }
    return this.#choose({ settings, ...(mode === undefined ? {} : { mode }) })
  }

  shelve(shelf: Shelf): Promise<StoredSession> {
    return this.#choose({ shelf })
  }

  async setBudget({ usd, tokens, minutes }: SessionBudget): Promise<StoredSession> {
    const { budgetUsd, budgetTokens, budgetMinutes, ...rest } = this.#view.session.settings
    const settings = {
      ...rest,
      budgetUsd: usd === undefined ? budgetUsd : (usd ?? undefined),
      budgetTokens: tokens === undefined ? budgetTokens : (tokens ?? undefined),
      budgetMinutes: minutes === undefined ? budgetMinutes : (minutes ?? undefined),
    }
    return this.#choose({ settings })
  }

  async #keepMode(mode: PermissionMode): Promise<void> {
    await this.#choose({ settings: { ...this.#view.session.settings, permissionMode: keepable(mode) } })
  }

  async #choose(chosen: Parameters<SessionStore['choose']>[1]): Promise<StoredSession> {
    this.#project.leaving.require(this.id)
    const { settings, mode, shelf } = this.#view.session
    // The view is changed first: a turn that ends meanwhile stores the view's state.
    this.#view.replace(chosen)
    try {
      return await this.#project.store.choose(this.id, chosen)
    } catch (error) {
      this.#view.replace({ settings, mode, shelf })
      throw error
    }
  }

  async contextUsage(): Promise<ContextUsage | undefined> {
    const harness =
      this.#turns.current?.harness ?? chooseHarness(this.#view.session, null, this.#project.harnesses)
    return harness.contextUsage?.(this.id)
  }

  async rename(title: string): Promise<StoredSession> {
    this.#project.leaving.require(this.id)
    const session = await this.#project.store.rename(this.id, title)
    this.#view.replace({ title: session.title })
    return session
  }

  async settled(): Promise<void> {
    const rests = () => this.#view.phase === 'idle' && (this.queue.held || this.queue.list().length === 0)
    await this.#waiters.until(rests)
    await this.#turns.after
  }

  /** Handles an event that is in the log. */
  note(event: UIEvent): void {
    this.#steered.note(event)
    const mode = this.#plans.see(event)
    if (mode === undefined) return
    // A failed write does not undo the approval: the turn goes on in the chosen mode.
    if (this.#view.session.settings.permissionMode === 'plan') void this.#keepMode(mode).catch(() => {})
    const chosen = this.#plans.takeOverruled(event)
    if (chosen !== undefined)
      void this.#turns.current?.harness.setPermissionMode?.(this.id, chosen)?.catch(() => {})
  }

  /**
   * Messages that an earlier host passed to a turn: the agent took them, by the log, or they are first in the queue
   * once the turn is over.
   */
  async recoverSteered({ isOver }: { isOver: boolean }): Promise<void> {
    await this.#steered.recover()
    // A failed write must not prevent reading the session; the end of the next turn tries again.
    if (isOver) await this.#steered.takeBack().catch(() => {})
  }

  /** Continues a turn that an earlier host started. */
  adopt(turn: LiveTurn): void {
    this.#turns.follow(turn)
  }

  /** Sends the next queued message, if nothing prevents it. */
  sendNext(): Promise<void> {
    return this.#sending.next()
  }

  /**
   * Ends what runs, the agents that are kept with it, and lets go of the log, which has their last words then. With `leave` the
   * agent works on, for a later host to find.
   */
  async close(agents: 'stop' | 'leave', endAgents: () => Promise<void>): Promise<void> {
    this.#closed = true
    if (agents === 'stop') await this.#turns.stop().finally(endAgents)
    else await this.#turns.leave()
    await this.#betweenTurns.settled()
    await this.log.close()
  }

  /** Restores the files of a running turn that were deleted. */
  async repair(): Promise<void> {
    const repaired = [await this.#turns.current?.repair(), await this.queue.repair()]
    if (repaired.includes(true)) await this.#project.store.save(this.#view.session)
  }

  /** Called after every change. */
  wake(): void {
    this.#waiters.wake()
  }

  async #start(message: string, request: TurnRequest, turnId: string): Promise<StartedTurn> {
    if (this.#closed) throw startError('closed', 'The session is closed. Open it again.')
    await this.#turns.start(message, request, turnId)
    return { turnId }
  }

  async #enqueue(message: string, request: TurnRequest, place: 'first' | 'last'): Promise<QueuedTurn> {
    this.#project.leaving.require(this.id)
    return this.#queued(await this.queue.add(message, request, place))
  }

  #queued(queued: QueuedMessage): QueuedTurn {
    // The turn that it waits for may have ended meanwhile, before there was anything to send.
    const { lastTurn } = this.#view.session
    if (this.#view.phase === 'idle' && lastTurn !== null) void this.#sending.after(lastTurn)
    return { queued }
  }
}

/** The mode that an approved plan leads to. A mode that is set for one turn only does not count. */
class ApprovedPlans {
  #asked: string | null = null
  #isApproved = false
  /** What a person chose while the plan waited, or before the agent left its planning. */
  #chosen: PermissionMode | undefined

  choose(mode: PermissionMode): void {
    if (this.#asked !== null) this.#chosen = mode
  }

  /** The chosen mode, once, when the agent left its planning for another one. */
  takeOverruled(event: UIEvent): PermissionMode | undefined {
    const chosen = this.#chosen
    if (event.type !== 'status' || chosen === undefined || event.data?.mode === chosen) return undefined
    this.#chosen = undefined
    return chosen
  }

  /** The agent's mode after its plan was approved. */
  see(event: UIEvent): PermissionMode | undefined {
    switch (event.type) {
      case 'turn:start':
      case 'turn:end':
        this.#asked = null
        this.#isApproved = false
        this.#chosen = undefined
        return undefined
      case 'permission:request':
        if (event.kind === 'plan') this.#asked = event.requestId
        return undefined
      case 'permission:resolved':
        this.#isApproved ||= event.requestId === this.#asked && event.outcome === 'allowed'
        return undefined
      case 'status':
        return this.#isApproved && event.status === 'permission_mode' ? modeOf(event.data?.mode) : undefined
      default:
        return undefined
    }
  }
}

/**
 * Claude Code returns to the mode before the plan, which may have been set for one turn only: it must not allow edits
 * without asking.
 */
function modeOf(value: unknown): PermissionMode | undefined {
  if (value === 'dontAsk') return value
  return value === 'default' || value === 'acceptEdits' || value === 'auto' ? 'default' : undefined
}
