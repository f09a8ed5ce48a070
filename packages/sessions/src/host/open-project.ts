import type { RunnerLogEntry } from '@chirality/runner'
import { HarnessLog } from '../harness-log/harness-log.ts'
import { lockProject, type ProjectLock } from '../lock/project-lock.ts'
import { openSessionLog } from '../log/open-logs.ts'
import { MessageQueue } from '../queue/message-queue.ts'
import type { StoredSession } from '../store/stored-session.ts'
import type { HostContext, ProjectContext } from './host-context.ts'
import { HostedSession } from './hosted-session.ts'
import type { SessionStatus } from './session-status.ts'
import { SessionView } from './session-view.ts'

export interface OpenProjectOptions {
  host: HostContext
  address: string
  onStatus: (status: SessionStatus) => void
}

/** A project that this process owns, and its sessions that are in use. */
export class OpenProject {
  readonly projectRoot: string
  readonly #context: ProjectContext
  readonly #lock: ProjectLock
  readonly #onStatus: (status: SessionStatus) => void
  readonly #sessions = new Map<string, Promise<HostedSession>>()
  readonly #ready = new Map<string, HostedSession>()

  private constructor(lock: ProjectLock, context: ProjectContext, onStatus: (status: SessionStatus) => void) {
    this.projectRoot = lock.projectRoot
    this.#lock = lock
    this.#context = context
    this.#onStatus = onStatus
  }

  static async open(
    projectRoot: string,
    { host, address, onStatus }: OpenProjectOptions,
  ): Promise<OpenProject> {
    const lock = await lockProject(projectRoot, { address })
    try {
      const harnessLog = await HarnessLog.open(lock.projectRoot)
      return new OpenProject(lock, { ...host, projectRoot: lock.projectRoot, harnessLog }, onStatus)
    } catch (error) {
      await lock.release()
      throw error
    }
  }

  sessions(): HostedSession[] {
    return [...this.#ready.values()]
  }

  session(stored: StoredSession): Promise<HostedSession> {
    const known = this.#sessions.get(stored.id)
    if (known !== undefined) return known
    const opening = this.#open(stored)
    this.#sessions.set(stored.id, opening)
    opening.catch(() => this.#sessions.delete(stored.id))
    return opening
  }

  /** Ends what runs in a session and lets go of it. */
  async drop(id: string, agents: 'stop' | 'leave'): Promise<void> {
    const session = await this.#sessions.get(id)?.catch(() => undefined)
    await session?.close(agents)
    this.#sessions.delete(id)
    this.#ready.delete(id)
  }

  relay(entry: RunnerLogEntry): void {
    const { sessionId, data } = entry
    const isOurs = sessionId === undefined ? data?.cwd === this.projectRoot : this.#sessions.has(sessionId)
    if (isOurs) this.#context.harnessLog.relay(entry)
  }

  async close(agents: 'stop' | 'leave'): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map(id => this.drop(id, agents)))
    this.#context.harnessLog.close()
    await this.#lock.release()
  }

  async #open(stored: StoredSession): Promise<HostedSession> {
    const { projectRoot } = this
    const log = await openSessionLog(projectRoot, stored.id)
    let session: HostedSession | undefined
    const onChange = () => {
      if (session === undefined) return
      session.wake()
      this.#onStatus(session.status)
    }
    const view = new SessionView(stored, onChange)
    const onRelease = () => void session?.sendNext()
    const queue = await MessageQueue.open({ projectRoot, sessionId: stored.id, onChange, onRelease })
    log.onHealth(onChange)
    session = new HostedSession({ project: this.#context, view, log, queue })
    this.#ready.set(stored.id, session)
    return session
  }
}
