import { join } from 'node:path'
import type { Envelope } from '@chirality/core'
import { StorageError } from '@chirality/disk'
import type { RunnerLogEntry } from '@chirality/runner'
import { projectOf } from '@chirality/workspaces'
import { ProjectBudget } from '../budget/project-budget.ts'
import type { ProjectSpending } from '../budget/spent-elsewhere.ts'
import { HarnessLog } from '../harness-log/harness-log.ts'
import { faultRow } from '../harness-log/rows.ts'
import { lockProject, type ProjectLock } from '../lock/project-lock.ts'
import { openSessionLog } from '../log/open-logs.ts'
import { MessageQueue } from '../queue/message-queue.ts'
import type { QueuedMessage } from '../queue/queued-message.ts'
import { type Recovery, recoverSession, retoldEvents } from '../recovery/recover-session.ts'
import { hasTurn } from '../recovery/turns-in-log.ts'
import { startError } from '../session-errors.ts'
import type { SessionStatus, SessionWorktree } from '../status/session-status.ts'
import { SessionView } from '../status/session-view.ts'
import type { StoredSession } from '../store/stored-session.ts'
import type { HostContext, ProjectContext } from '../turns/host-context.ts'
import { KeptAgentsFile } from '../turns/record/kept-agents-file.ts'
import { SessionRecorder } from '../turns/record/session-recorder.ts'
import { SessionStateFiles } from '../turns/record/session-state-files.ts'
import { stopRecorded, TurnRecordFile } from '../turns/record/turn-record.ts'
import { HostedSession } from './hosted-session.ts'

export interface OpenProjectOptions {
  host: HostContext
  address: string
  onStatus: (status: SessionStatus) => void
  /** The lock was deleted, and another server owns the project now. */
  onLost: () => void
}

/** A project that this process owns, and its open sessions. */
export class OpenProject {
  readonly projectRoot: string
  readonly #context: ProjectContext
  readonly #lock: ProjectLock
  readonly #onStatus: (status: SessionStatus) => void
  readonly #sessions = new Map<string, Promise<OpenedSession>>()
  readonly #ready = new Map<string, HostedSession>()
  readonly #repairs: NodeJS.Timeout
  #repairing = false

  private constructor(
    lock: ProjectLock,
    context: Omit<ProjectContext, 'othersAtWork'>,
    onStatus: (status: SessionStatus) => void,
  ) {
    this.projectRoot = lock.projectRoot
    this.#lock = lock
    this.#context = { ...context, othersAtWork: id => this.#othersAtWork(id) }
    this.#onStatus = onStatus
    this.#repairs = setInterval(() => void this.#repair(), REPAIR_MS)
    this.#repairs.unref()
  }

  static async open(
    projectRoot: string,
    { host, address, onStatus, onLost }: OpenProjectOptions,
  ): Promise<OpenProject> {
    const lock = await lockProject(projectRoot, { address, onLost })
    try {
      const { projectRoot: root } = lock
      const harnessLog = await HarnessLog.open(root, { secrets: host.secrets })
      const budget = new ProjectBudget(root, host.budgets, host.spentElsewhere)
      return new OpenProject(lock, { ...host, projectRoot: root, harnessLog, budget }, onStatus)
    } catch (error) {
      await lock.release()
      throw error
    }
  }

  spent(): Promise<ProjectSpending> {
    return this.#context.budget.spent()
  }

  sessions(): HostedSession[] {
    return [...this.#ready.values()]
  }

  /** A session that is already open. */
  find(id: string): HostedSession | undefined {
    return this.#ready.get(id)
  }

  async session(stored: StoredSession): Promise<OpenedSession> {
    const known = this.#sessions.get(stored.id)
    if (known !== undefined) return known
    const opening = openSession(this.#context, stored, this.#onStatus)
    this.#sessions.set(stored.id, opening)
    try {
      const opened = await opening
      this.#ready.set(stored.id, opened.session)
      return opened
    } catch (error) {
      this.#sessions.delete(stored.id)
      throw error
    }
  }

  /** Ends the session's work and closes it. Rejects if its log could not be written completely. */
  async drop(id: string, agents: 'stop' | 'leave'): Promise<void> {
    const opened = await this.#sessions.get(id)?.catch(() => undefined)
    try {
      // While its session is known here: what the harnesses say about the end of the agent belongs to harness.log.
      if (opened) await opened.session.close(agents, () => this.#endAgents(id))
      else if (agents === 'stop') await this.#endAgents(id)
    } finally {
      this.#sessions.delete(id)
      this.#ready.delete(id)
    }
  }

  /**
   * Closes a session that is at rest, with the agents that wait in it: its file, its buffers and its state are free. False
   * if it is in use: a turn, a queued message, or somebody who follows it.
   */
  async letGo(id: string): Promise<boolean> {
    const session = this.#ready.get(id)
    if (session?.isAtRest !== true) return session === undefined
    await this.#endAgents(id)
    // A turn may have begun meanwhile. From here on whoever asks for the session opens it again.
    if (this.#ready.get(id) !== session || !session.isAtRest) return false
    this.#sessions.delete(id)
    this.#ready.delete(id)
    await session.close('leave', async () => {})
    return true
  }

  /** Before a session is deleted: also stops an agent that no registered harness can talk to. */
  async stop(id: string): Promise<void> {
    // The events that its log could not take are about to be deleted anyway.
    await this.drop(id, 'stop').catch(() => {})
    const record = await new TurnRecordFile(this.projectRoot, id).read()
    if (record !== undefined) await stopRecorded(record)
  }

  /** Before a worktree is removed: throws while an agent works in it, and ends those that wait there for a next turn. */
  async leaveWorktree(id: string): Promise<void> {
    const inside = this.sessions().filter(({ status }) => status.worktree?.id === id)
    const atWork = inside.find(({ status }) => status.phase !== 'idle')
    if (atWork !== undefined)
      throw startError(
        'busy',
        `The session ${atWork.status.title ?? atWork.id} works in this worktree. Stop it first.`,
      )
    for (const session of inside) await this.#endAgents(session.id)
  }

  relay(entry: RunnerLogEntry): void {
    const { sessionId, data } = entry
    const isOurs = sessionId === undefined ? data?.cwd === this.projectRoot : this.#sessions.has(sessionId)
    if (isOurs) this.#context.harnessLog.relay(entry)
  }

  logFault(error: unknown): void {
    this.#context.harnessLog.write('', faultRow(error))
  }

  /**
   * Closes everything and then rejects with the first error: one failing log must not keep the others, or the project,
   * open.
   */
  async close(agents: 'stop' | 'leave'): Promise<void> {
    clearInterval(this.#repairs)
    try {
      await allDone([...this.#sessions.keys()].map(id => this.drop(id, agents)))
    } finally {
      this.#context.harnessLog.close()
      await this.#lock.release()
    }
  }

  #othersAtWork(sessionId: string): SessionStatus[] {
    const statuses = this.sessions().map(({ status }) => status)
    const own = this.find(sessionId)?.status.worktree?.id
    return statuses.filter(
      other => other.sessionId !== sessionId && other.worktree?.id === own && !AT_REST.has(other.phase),
    )
  }

  /** An agent that is kept between turns ends with its session. */
  async #endAgents(id: string): Promise<void> {
    const { harnesses, harnessLog } = this.#context
    const releases = harnesses.getAll().map(harness => harness.release(id))
    const forgotten = Promise.all(releases).then(() => new KeptAgentsFile(this.projectRoot, id).remove())
    for (const released of await Promise.allSettled([...releases, forgotten])) {
      if (released.status === 'fulfilled') continue
      harnessLog.write(id, faultRow(released.reason))
    }
  }

  /**
   * `git clean -fdx` deletes the files of running turns too, so they are restored. The log and the lock restore
   * themselves.
   */
  async #repair(): Promise<void> {
    // On a slow disk one check may take longer than the interval.
    if (this.#repairing) return
    this.#repairing = true
    try {
      for (const session of this.#ready.values()) await this.#repairOne(session)
    } finally {
      this.#repairing = false
    }
  }

  async #repairOne(session: HostedSession): Promise<void> {
    await session.repair().catch((error: unknown) => {
      this.#context.harnessLog.write(session.id, faultRow(error))
    })
  }
}

const REPAIR_MS = 2000
const AT_REST: ReadonlySet<SessionStatus['phase']> = new Set(['idle', 'ending'])

interface OpenedSession {
  session: HostedSession
  recovery: Recovery
}

/** Opens a session of an owned project, and recovers what an earlier host left. */
async function openSession(
  project: ProjectContext,
  stored: StoredSession,
  onStatus: (status: SessionStatus) => void,
): Promise<OpenedSession> {
  const { projectRoot } = project
  const state = new SessionStateFiles(projectRoot, stored.id)
  const isToldAgain = retoldEvents(project, stored, state)
  const log = await openSessionLog(projectRoot, stored.id, { isToldAgain })
  let session: HostedSession | undefined
  const onChange = () => {
    if (session === undefined) return
    session.wake()
    onStatus(session.status)
  }
  try {
    const worktree = await worktreeOf(stored, project)
    const view = new SessionView(await project.store.withSpends(stored), { onChange, worktree })
    const onRecorded = (envelopes: Envelope[]) => {
      view.note(envelopes)
      for (const { event } of envelopes) session?.note(event)
    }
    const recorder = new SessionRecorder({ log, onRecorded })
    const onRelease = () => void session?.sendNext()
    const queue = await MessageQueue.open({ projectRoot, sessionId: stored.id, onChange, onRelease })
    const recovery = await recoverSession({ project, view, state, recorder, log })
    const adopted = recovery.kind === 'adopted' ? recovery.turn.turnId : undefined
    await recoverQueue(queue, async queued => queued.id === adopted || hasTurn(log, queued))
    session = new HostedSession({ project, view, state, log, recorder, queue })
    await session.recoverSteered({ isOver: recovery.kind !== 'adopted' })
    log.onHealth(onChange)
    // Queued messages follow a turn that goes on. Otherwise a person decides: opening a project must not cost money.
    if (recovery.kind === 'adopted') session.adopt(recovery.turn)
    else if (queue.list().length > 0 && !queue.held) await queue.hold()
    return { session, recovery }
  } catch (error) {
    await log.close()
    throw error
  }
}

/** The folder is fixed for the life of a worktree, also while it is removed. */
async function worktreeOf(
  { worktree: id }: StoredSession,
  { worktrees, projectRoot }: ProjectContext,
): Promise<SessionWorktree | undefined> {
  if (id === null) return undefined
  const record = await worktrees.find(id)
  // The session can be read, and its next turn is refused.
  if (record === undefined) return { id, folder: null, branch: null, baseBranch: null }
  const { folder, prefix, branch, baseBranch } = record
  if (projectOf(record) !== projectRoot)
    throw new StorageError(
      'unsafe',
      projectRoot,
      `The worktree ${id} of this session belongs to another project.`,
    )
  return { id, folder: join(folder, prefix), branch, baseBranch }
}

/** The message that was being sent: done if its turn began, otherwise still queued. */
async function recoverQueue(
  queue: MessageQueue,
  hasBegun: (queued: QueuedMessage) => Promise<boolean>,
): Promise<void> {
  const { sending } = queue
  if (sending === null) return
  const queued = queue.list().find(({ id }) => id === sending)
  if (queued === undefined || (await hasBegun(queued))) await queue.sent(sending)
  else await queue.notSent({ hold: false })
}

/** Waits for all promises, also if one fails, and then rejects with the first failure. */
export async function allDone(steps: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(steps)
  await Promise.all(steps)
}
