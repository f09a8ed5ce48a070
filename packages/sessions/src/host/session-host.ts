import {
  type HarnessId,
  type PermissionMode,
  PRICES,
  type PriceTable,
  type SessionHarness,
  type SessionMode,
} from '@chirality/core'
import { PersonaManager } from '@chirality/personas'
import { type HarnessRegistry, isSecretLike, processEnv, type RunnerLogEntry } from '@chirality/runner'
import { DecisionBroker } from '../decisions/decision-broker.ts'
import { PolicyBook } from '../decisions/policy/policy-book.ts'
import { realProjectRoot } from '../files/project-folder.ts'
import { requireSessionId } from '../files/session-id.ts'
import { StorageError } from '../files/storage-error.ts'
import { type ProjectReport, recoverProject } from '../recovery/recover-project.ts'
import type { SessionSettings } from '../store/session-settings.ts'
import { type ForkOptions, SessionStore } from '../store/session-store.ts'
import type { StoredSession } from '../store/stored-session.ts'
import { allDone } from './all-done.ts'
import type { HostContext } from './host-context.ts'
import type { HostedSession } from './hosted-session.ts'
import type { LiveSession } from './live-session.ts'
import { OpenProject } from './open-project.ts'
import type { SessionStatus } from './session-status.ts'

export interface SessionHostOptions {
  harnesses: HarnessRegistry<SessionHarness>
  /** Where this process can be reached, for the lock file of each project. */
  address: string
  /** The user's data folder. */
  home?: string
  personas?: PersonaManager
  prices?: PriceTable
  /** Values that must not be in harness.log, whatever they look like. Default: the secrets in the environment. */
  secrets?: readonly string[]
  /** Answers what agents ask. Default: one that waits for a person. */
  decisions?: DecisionBroker
  /** How long a request waits for a person before the answer is no. Null, the default: for ever. */
  decisionTimeoutMs?: number | null
}

export interface NewSession {
  persona?: string | null
  mode?: SessionMode
  harness?: HarnessId
  model?: string
  title?: string
  permissionMode?: PermissionMode
  thinking?: SessionSettings['thinking']
  /** The most that all its turns may cost together. */
  budgetUsd?: number
}

interface Opened {
  project: OpenProject
  report: ProjectReport
}

/** Runs the sessions of the projects that this process owns. */
export class SessionHost {
  /** For reading; changes go through the host. */
  readonly store: SessionStore
  /** What agents ask, and where it is answered. */
  readonly decisions: DecisionBroker
  readonly #context: HostContext
  readonly #address: string
  readonly #projects = new Map<string, Promise<Opened>>()
  readonly #open = new Set<OpenProject>()
  readonly #listeners = new Set<(status: SessionStatus) => void>()

  constructor(options: SessionHostOptions) {
    const { harnesses, home, personas = new PersonaManager(), prices = PRICES } = options
    this.#address = options.address
    this.decisions =
      options.decisions ??
      new DecisionBroker({
        timeoutMs: options.decisionTimeoutMs,
        policies: new PolicyBook({ home, personas }),
        onProblem: (id, message) => this.#warn(id, message),
      })
    this.store = new SessionStore({ home, beforeDelete: id => this.#stop(id) })
    this.#context = {
      ...{ store: this.store, harnesses, personas, prices },
      secrets: options.secrets ?? secretsOf(processEnv()),
      decider: context => (request, signal) => this.decisions.ask(context, request, signal),
    }
  }

  /** Makes this process the owner of a project. Throws `ProjectLockedError` when another one is. */
  async openProject(projectRoot: string): Promise<ProjectReport> {
    const { report } = await this.#project(projectRoot)
    return report
  }

  async closeProject(projectRoot: string): Promise<void> {
    const root = realProjectRoot(projectRoot)
    const project = this.#projects.get(root)
    if (project === undefined) return
    this.#projects.delete(root)
    await this.#close((await project).project, 'stop')
  }

  projects(): string[] {
    return [...this.#projects.keys()]
  }

  async createSession(projectRoot: string, options: NewSession = {}): Promise<StoredSession> {
    const {
      persona = null,
      mode = 'direct',
      harness,
      title,
      model,
      permissionMode,
      thinking,
      budgetUsd,
    } = options
    const { project } = await this.#project(projectRoot)
    const settings = { model, permissionMode, thinking, budgetUsd }
    return this.store.create(project.projectRoot, persona, mode, { title, harness, model, settings })
  }

  async renameSession(id: string, title: string): Promise<StoredSession> {
    const session = await this.#hosted(id)
    return session.rename(title)
  }

  async forkSession(id: string, options?: ForkOptions): Promise<StoredSession> {
    const session = await this.#hosted(id)
    await session.log.flush().catch(() => {})
    return this.store.fork(id, options)
  }

  /** Stops what runs in it, and removes everything that is kept of it. Only in a project that is ours, or becomes it. */
  async deleteSession(id: string): Promise<void> {
    const session = await this.store.get(requireSessionId(id))
    if (session !== undefined) await this.#project(session.projectRoot)
    await this.store.delete(id)
  }

  /** One of the agent's own conversations as a session of ours. */
  async importSession(harnessId: HarnessId, nativeSessionId: string, cwd?: string): Promise<StoredSession> {
    const harness = this.#context.harnesses.getOrThrow(harnessId)
    if (harness.importSession === undefined)
      throw new StorageError('not-found', '', `${harnessId} keeps no conversations that can be imported.`)
    const imported = await harness.importSession(nativeSessionId, cwd)
    await this.#project(imported.session.projectRoot)
    return this.store.import(imported)
  }

  /** Opens its project if need be. Throws a StorageError `not-found` when there is no such session. */
  session(id: string): Promise<LiveSession> {
    return this.#hosted(id)
  }

  /** Of the sessions that are open here; the store lists all. */
  statuses(): SessionStatus[] {
    return [...this.#open].flatMap(project => project.sessions().map(session => session.status))
  }

  /** Every change of any session. */
  onStatus(listener: (status: SessionStatus) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** For `onLog` of a harness: what it says goes to the harness.log of the project that its session is in. */
  log(entry: RunnerLogEntry): void {
    for (const project of this.#open) project.relay(entry)
  }

  /**
   * With `leave` agents work on, and the next host of their project finds them again. Rejects when a log could not be
   * written to its end; everything is closed then, too.
   */
  async close({ agents = 'stop' }: { agents?: 'stop' | 'leave' } = {}): Promise<void> {
    const projects = await Promise.allSettled(this.#projects.values())
    this.#projects.clear()
    const opened = projects.flatMap(result => (result.status === 'fulfilled' ? [result.value.project] : []))
    try {
      await allDone(opened.map(project => this.#close(project, agents)))
    } finally {
      if (agents === 'stop') await allDone(this.#context.harnesses.getAll().map(harness => harness.close()))
    }
  }

  async #project(projectRoot: string): Promise<Opened> {
    const root = realProjectRoot(projectRoot)
    const known = this.#projects.get(root)
    if (known !== undefined) return known
    const opening = this.#openProject(root)
    this.#projects.set(root, opening)
    try {
      return await opening
    } catch (error) {
      this.#projects.delete(root)
      throw error
    }
  }

  async #openProject(root: string): Promise<Opened> {
    const project = await OpenProject.open(root, {
      ...{ host: this.#context, address: this.#address },
      onStatus: status => this.#tell(status),
      onLost: () => void this.#lost(root),
    })
    this.#open.add(project)
    try {
      return { project, report: await recoverProject(project, this.store) }
    } catch (error) {
      await this.#close(project, 'leave')
      throw error
    }
  }

  /** Two must not write to one log: the other has the project, and finds the agents that are left to it. */
  async #lost(root: string): Promise<void> {
    const opened = await this.#projects.get(root)?.catch(() => undefined)
    this.#projects.delete(root)
    if (opened !== undefined) await this.#close(opened.project, 'leave').catch(() => {})
  }

  async #close(project: OpenProject, agents: 'stop' | 'leave'): Promise<void> {
    const sessions = project.sessions()
    try {
      await project.close(agents)
    } finally {
      for (const { id } of sessions) this.decisions.closeSession(id)
      this.#open.delete(project)
    }
  }

  async #hosted(id: string): Promise<HostedSession> {
    const stored = await this.store.resume(id)
    const { project } = await this.#project(stored.projectRoot)
    return (await project.session(stored)).session
  }

  async #stop(id: string): Promise<void> {
    this.decisions.closeSession(id)
    // What its log could not take is about to be deleted.
    for (const project of this.#open) await project.drop(id, 'stop').catch(() => {})
  }

  #warn(sessionId: string, message: string): void {
    const session = [...this.#open].flatMap(project => project.sessions()).find(({ id }) => id === sessionId)
    if (session === undefined || session.log.health.state === 'paused') return
    const { turnId } = session.status
    session.log.append({ type: 'status', sessionId, status: 'notice', level: 'warn', message }, { turnId })
  }

  #tell(status: SessionStatus): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(status)
      } catch {
        // Whoever watches must not disturb what is watched.
      }
    }
  }
}

function secretsOf(environment: Readonly<Record<string, string>>): string[] {
  return Object.entries(environment).flatMap(([name, value]) => (isSecretLike(name, value) ? [value] : []))
}
