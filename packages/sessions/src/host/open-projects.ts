import { realProjectRoot } from '../files/project-folder.ts'
import { startError } from '../session-errors.ts'
import type { SessionStatus } from '../status/session-status.ts'
import type { HostContext } from '../turns/host-context.ts'
import type { HostedSession } from './hosted-session.ts'
import { allDone, OpenProject } from './open-project.ts'
import { type ProjectReport, recoverProject } from './recover-project.ts'

export interface OpenProjectsOptions {
  address: string
  onStatus: (status: SessionStatus) => void
  /** Called when a session is closed. */
  onClosed: (sessionId: string) => void
  /** Finishes what a killed process left half done in the files of a project. Never rejects. */
  recoverMoves: (projectRoot: string) => Promise<void>
}

export interface Opened {
  project: OpenProject
  /** The result of the recovery when it was opened. */
  report: ProjectReport
}

/** The projects that this process owns. */
export class OpenProjects {
  readonly #context: HostContext
  readonly #options: OpenProjectsOptions
  readonly #opening = new Map<string, Promise<Opened>>()
  readonly #open = new Set<OpenProject>()
  readonly #moves = new Map<string, Promise<void>>()
  readonly #recovering = new Set<Promise<void>>()
  #closed = false

  constructor(context: HostContext, options: OpenProjectsOptions) {
    this.#context = context
    this.#options = options
  }

  get open(): readonly OpenProject[] {
    return [...this.#open]
  }

  roots(): string[] {
    return [...this.#opening.keys()]
  }

  sessions(): HostedSession[] {
    return this.open.flatMap(project => project.sessions())
  }

  /** A session that is already open: this process has newer state than its file. */
  session(id: string): HostedSession | undefined {
    if (this.#closed) return undefined
    for (const project of this.#open) {
      const session = project.find(id)
      if (session !== undefined) return session
    }
    return undefined
  }

  /** Opens the project at the first call. */
  async get(projectRoot: string): Promise<Opened> {
    if (this.#closed) throw startError('closed', 'Chirality is being closed. Start it again.')
    const root = realProjectRoot(projectRoot)
    const known = this.#opening.get(root)
    if (known !== undefined) return known
    const opening = this.#openOne(root)
    this.#opening.set(root, opening)
    try {
      const opened = await opening
      // Not waited for by who only reads.
      if (!this.#closed) void this.movesRecovered(root)
      return opened
    } catch (error) {
      this.#opening.delete(root)
      throw error
    }
  }

  /**
   * Resolves when what a killed process left half done in the files of a project is finished. Never rejects, and is done once
   * while the project is open: a later try could meet a move that is being made.
   */
  movesRecovered(root: string): Promise<void> {
    const known = this.#moves.get(root)
    if (known !== undefined) return known
    const recovering = this.#options.recoverMoves(root).finally(() => this.#recovering.delete(recovering))
    this.#moves.set(root, recovering)
    this.#recovering.add(recovering)
    return recovering
  }

  async close(projectRoot: string): Promise<void> {
    const root = realProjectRoot(projectRoot)
    const opening = this.#opening.get(root)
    // With the conversations of the moves, for which the project has to be open.
    await this.#moves.get(root)
    this.#opening.delete(root)
    this.#moves.delete(root)
    const opened = await opening
    if (opened !== undefined) await this.#closeOne(opened.project, 'stop')
  }

  /** Final: a project that is opened from now on would never be closed, and its lock would stay. */
  async closeAll(agents: 'stop' | 'leave'): Promise<void> {
    // Of those, too, the conversation is written in an open project.
    if (this.#recovering.size > 0) await Promise.all(this.#recovering)
    this.#closed = true
    const results = await Promise.allSettled(this.#opening.values())
    this.#opening.clear()
    const opened = results.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
    await allDone(opened.map(({ project }) => this.#closeOne(project, agents)))
  }

  async #openOne(root: string): Promise<Opened> {
    const { address, onStatus } = this.#options
    const onLost = () => void this.#lost(root)
    const project = await OpenProject.open(root, { host: this.#context, address, onStatus, onLost })
    this.#open.add(project)
    try {
      return { project, report: await recoverProject(project, this.#context.store) }
    } catch (error) {
      await this.#closeOne(project, 'leave')
      throw error
    }
  }

  /**
   * Two processes must not write to one log: the other process owns the project and adopts the agents that are left
   * running.
   */
  async #lost(root: string): Promise<void> {
    const opened = await this.#opening.get(root)?.catch(() => undefined)
    this.#opening.delete(root)
    this.#moves.delete(root)
    if (opened !== undefined) await this.#closeOne(opened.project, 'leave').catch(() => {})
  }

  async #closeOne(project: OpenProject, agents: 'stop' | 'leave'): Promise<void> {
    const sessions = project.sessions()
    try {
      await project.close(agents)
    } finally {
      for (const { id } of sessions) this.#options.onClosed(id)
      this.#open.delete(project)
    }
  }
}
