import { randomUUID } from 'node:crypto'
import type { ContextUsage, Envelope, PermissionMode, TurnEndReason, UIEvent } from '@chirality/core'
import type { SessionLog } from '../log/session-log.ts'
import type { MessageQueue } from '../queue/message-queue.ts'
import type { StoredSession } from '../store/stored-session.ts'
import { chooseHarness } from '../turns/choose.ts'
import { LiveTurn } from '../turns/live-turn.ts'
import { SessionRecorder } from '../turns/session-recorder.ts'
import { settleTurn } from '../turns/settle-turn.ts'
import type { ProjectContext } from './host-context.ts'
import type { LiveSession, QueuedTurn, StartedTurn } from './live-session.ts'
import { SessionBusyError, SessionStartError, toStartError } from './session-errors.ts'
import type { SessionStatus } from './session-status.ts'
import type { SessionView } from './session-view.ts'
import type { TurnRequest } from './turn-request.ts'

export interface HostedSessionOptions {
  project: ProjectContext
  view: SessionView
  log: SessionLog
  queue: MessageQueue
}

export class HostedSession implements LiveSession {
  readonly id: string
  readonly log: SessionLog
  readonly queue: MessageQueue
  readonly #project: ProjectContext
  readonly #view: SessionView
  readonly #recorder: SessionRecorder
  readonly #waiting = new Set<() => void>()
  #turn: LiveTurn | undefined
  #starting: AbortController | undefined
  #closed = false

  constructor({ project, view, log, queue }: HostedSessionOptions) {
    this.id = log.sessionId
    this.log = log
    this.queue = queue
    this.#project = project
    this.#view = view
    const onRecorded = (event: UIEvent, envelope: Envelope | undefined) => view.note(event, envelope)
    this.#recorder = new SessionRecorder({ log, onRecorded })
  }

  get status(): SessionStatus {
    const { queue, log } = this
    return {
      ...this.#view.facts,
      ...{ queue: queue.list(), queueHeld: queue.held, logHealth: log.health.state },
    }
  }

  start(message: string, request: TurnRequest = {}): Promise<StartedTurn> {
    return this.#start(message, request, randomUUID())
  }

  async send(message: string, request: TurnRequest = {}): Promise<StartedTurn | QueuedTurn> {
    const mustWait = this.#view.phase !== 'idle' || this.queue.list().length > 0
    return mustWait ? this.#enqueue(message, request, 'last') : this.start(message, request)
  }

  async steer(
    message: string,
    request: TurnRequest = {},
  ): Promise<{ steered: true } | StartedTurn | QueuedTurn> {
    if (this.#view.phase === 'idle') return this.start(message, request)
    const { harness } = this.#turn ?? {}
    if (harness?.capabilities().supportsSteering && (await harness.steer?.(this.id, message, request.images)))
      return { steered: true }
    return this.#enqueue(message, request, 'first')
  }

  interrupt(): void {
    this.#starting?.abort()
    this.#turn?.interrupt()
  }

  async kill(): Promise<void> {
    this.#starting?.abort()
    this.#turn?.kill()
    await this.#until(() => this.#view.phase === 'idle')
  }

  async prewarm(): Promise<void> {}

  async setPermissionMode(mode: PermissionMode): Promise<void> {
    const settings = { ...this.#view.session.settings, permissionMode: mode }
    await this.#project.store.update(this.id, { settings })
    this.#view.replace({ settings })
    await this.#turn?.harness.setPermissionMode?.(this.id, mode)
  }

  async contextUsage(): Promise<ContextUsage | undefined> {
    const harness = chooseHarness(this.#view.session, null, this.#project.harnesses)
    return harness.contextUsage?.(this.id)
  }

  async rename(title: string): Promise<StoredSession> {
    const session = await this.#project.store.rename(this.id, title)
    this.#view.replace({ title: session.title })
    return session
  }

  settled(): Promise<void> {
    return this.#until(
      () => this.#view.phase === 'idle' && (this.queue.held || this.queue.list().length === 0),
    )
  }

  /** Ends what runs and lets go of the log. With `leave` the agent works on, for a later host to find. */
  async close(agents: 'stop' | 'leave'): Promise<void> {
    this.#closed = true
    if (agents === 'stop') await this.kill()
    else this.#turn?.leave()
    await this.#turn?.done
    await this.log.close()
  }

  /** Called whenever something changed. */
  wake(): void {
    for (const check of [...this.#waiting]) check()
  }

  async #start(message: string, request: TurnRequest, turnId: string): Promise<StartedTurn> {
    if (this.#closed) throw new SessionStartError('closed', 'The session is closed. Open it again.')
    if (this.#view.phase !== 'idle') throw new SessionBusyError(this.id)
    if (this.log.health.state === 'paused') throw toStartError(this.log.health.error)
    this.#view.begin(turnId)
    const starting = new AbortController()
    this.#starting = starting
    try {
      const { view, project, recorder } = {
        view: this.#view,
        project: this.#project,
        recorder: this.#recorder,
      }
      const turn = await LiveTurn.start({ project, view, recorder, turnId, message, request })
      this.#turn = turn
      if (starting.signal.aborted) turn.interrupt()
      void turn.done.then(end => this.#ended(end))
      return { turnId }
    } catch (error) {
      this.#view.refused()
      throw toStartError(error)
    } finally {
      this.#starting = undefined
    }
  }

  async #ended(end: Awaited<LiveTurn['done']>): Promise<void> {
    const turn = this.#turn
    if (end.kind === 'left' || turn === undefined) return
    await settleTurn({ project: this.#project, view: this.#view, turnId: turn.turnId })
    this.#turn = undefined
    this.#view.settled()
    await this.#continue(end.reason)
  }

  async #continue(reason: TurnEndReason): Promise<void> {
    if (this.queue.list().length === 0) return
    if (reason !== 'completed') return this.queue.hold()
    await this.sendNext()
  }

  async sendNext(): Promise<void> {
    if (this.#closed || this.#view.phase !== 'idle') return
    const next = await this.queue.take()
    if (next === undefined) return
    try {
      await this.#start(next.message, next.request, next.id)
      await this.queue.sent(next.id)
    } catch {
      await this.queue.notSent()
    }
  }

  async #enqueue(message: string, request: TurnRequest, place: 'first' | 'last'): Promise<QueuedTurn> {
    return { queued: await this.queue.add(message, request, place) }
  }

  #until(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve()
    return new Promise(resolve => {
      const check = () => {
        if (!condition()) return
        this.#waiting.delete(check)
        resolve()
      }
      this.#waiting.add(check)
    })
  }
}
