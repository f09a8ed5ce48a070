import { join } from 'node:path'
import { HarnessError, type HarnessId } from '@chirality/core'
import { KeyedQueue, StorageError } from '@chirality/disk'
import { PersonaManager } from '@chirality/personas'
import {
  conversationKeeper,
  processEnv,
  type RunnerLogEntry,
  secretValues,
  sweepTempFolders,
} from '@chirality/runner'
import { type KeptWork, projectOf, TurnChanges, Worktrees } from '@chirality/workspaces'
import { BudgetBook } from '../budget/budget-book.ts'
import { ProjectBudget } from '../budget/project-budget.ts'
import { nothingElsewhere, type ProjectSpending, type SpentElsewhere } from '../budget/spent-elsewhere.ts'
import { readPrices } from '../budget/user-prices.ts'
import { DecisionBroker } from '../decisions/decision-broker.ts'
import { PolicyBook } from '../decisions/policy/policy-book.ts'
import { realPath } from '../files/real-path.ts'
import { requireSessionId } from '../files/session-id.ts'
import { userDataFolder } from '../files/user-data-folder.ts'
import { importNative, refuseKnown } from '../history/import/import-session.ts'
import { recoverMoves } from '../review/recover-moves.ts'
import type { RawLogRule } from '../spools/raw-log-rule.ts'
import { listRawLogs, logsToPrune, type RawLog, removeRawLogs } from '../spools/raw-logs.ts'
import type { LiveSession } from '../status/live-session.ts'
import type { SessionStatus } from '../status/session-status.ts'
import { type ForkOptions, SessionStore } from '../store/session-store.ts'
import type { ForkHistory, Shelf, StoredSession } from '../store/stored-session.ts'
import { ToolServerBook } from '../tool-servers/tool-server-book.ts'
import { CageSettings } from '../trust/cage-settings.ts'
import { OwnSetups } from '../trust/own-setups.ts'
import { PersonaConsent } from '../trust/persona-consent.ts'
import { ProjectTrust } from '../trust/project-trust.ts'
import { TrustStore } from '../trust/trust-store.ts'
import type { HostContext } from '../turns/host-context.ts'
import { LeavingSessions } from '../turns/leaving-sessions.ts'
import { choosePersona } from '../turns/turn-options.ts'
import { keepable, type NewSession, type SessionHostOptions } from './host-options.ts'
import type { HostedSession } from './hosted-session.ts'
import { allDone } from './open-project.ts'
import { OpenProjects } from './open-projects.ts'
import type { ProjectReport } from './recover-project.ts'
import { SessionMoves } from './session-moves.ts'

/** Runs the sessions of the projects that this process owns. */
export class SessionHost {
  /** The folder for data that belongs to no project, where its agents are not meant to write. */
  readonly home: string
  /** For reading; changes go through the host. */
  readonly store: SessionStore
  /** The permissions that personas request beyond asking, and in which projects the user granted them. */
  readonly consent: PersonaConsent
  /** The cost of projects, and their budgets. */
  readonly budgets: BudgetBook
  /** The agents' open requests, and where they are answered. */
  readonly decisions: DecisionBroker
  /** The rules that allow, ask about or deny tool calls. */
  readonly policies: PolicyBook
  /** The worktrees that sessions work in. */
  readonly worktrees: Worktrees
  /** The files of projects that agents would run, and whether the user trusts them. */
  readonly trust: ProjectTrust
  /** The user's own tool servers, for all projects, one project, or one persona of it. */
  readonly toolServers: ToolServerBook
  /** How the user sets up worktrees of a project. */
  readonly ownSetups: OwnSetups
  /** Sessions on their way between machines. */
  readonly moves: SessionMoves
  /** The files before and after each turn, and what turns changed. */
  readonly changes: TurnChanges
  /** Where this process is reached, or the name of its command. */
  readonly address: string
  readonly #context: HostContext
  readonly #projects: OpenProjects
  readonly #imports = new KeyedQueue()
  readonly #listeners = new Set<(status: SessionStatus) => void>()
  readonly #deleted = new Set<(sessionId: string) => void>()

  constructor(options: SessionHostOptions) {
    const { harnesses, home = userDataFolder(), personas = new PersonaManager() } = options
    this.home = home
    this.address = options.address
    this.changes = options.changes ?? new TurnChanges()
    // Read at the start, so that an error in the file is reported before the first turn.
    const prices = options.prices ?? readPrices(home)
    this.budgets = new BudgetBook({ home })
    this.policies = new PolicyBook({ home, personas })
    this.decisions =
      options.decisions ??
      new DecisionBroker({ timeoutMs: options.decisionTimeoutMs, policies: this.policies })
    this.trust = new ProjectTrust(harnesses, { home })
    this.worktrees = new Worktrees(join(home, 'worktrees'))
    this.consent = new PersonaConsent(personas, new TrustStore({ home }))
    this.toolServers = new ToolServerBook({ home, personas })
    this.ownSetups = new OwnSetups({ home })
    this.store = new SessionStore({ home, beforeDelete: id => this.#stop(id) })
    this.#context = {
      store: this.store,
      harnesses,
      personas,
      consent: this.consent,
      trust: this.trust,
      spentElsewhere: options.spentElsewhere ?? nothingElsewhere,
      budgets: this.budgets,
      toolServers: this.toolServers,
      cages: new CageSettings({ home }),
      worktrees: this.worktrees,
      prices: () => (options.prices === undefined ? readPrices(home) : prices),
      secrets: options.secrets ?? secretValues(processEnv()),
      decider: context => (request, signal) => this.decisions.ask(context, request, signal),
      policyProblem: id => this.#policyProblem(id),
      guard: (context, mode) => this.decisions.guard(context, mode),
      beforeTurn: turn => this.changes.begin(turn, () => this.movesRecovered(turn.projectRoot)),
      afterTurn: turn => this.changes.end(turn),
      allowedSetups: new TrustStore({ home }),
      ownSetups: this.ownSetups,
      leaving: new LeavingSessions(home),
    }
    this.#projects = new OpenProjects(this.#context, {
      address: options.address,
      onStatus: status => notify(this.#listeners, status),
      onClosed: id => this.decisions.closeSession(id),
      recoverMoves: root => recoverMoves(this, root),
    })
    this.moves = new SessionMoves(this.#context, {
      stop: id => this.#stop(id),
      session: id => this.#hosted(id),
      open: id => this.#projects.session(id),
      project: async root => (await this.#projects.get(root)).project.projectRoot,
      hold: (folder, work) => this.changes.hold([folder], () => {}, work),
    })
    this.decisions.onProblem((id, message) => this.#warn(id, message))
    // Published again, because the first status of the request went out before the policies were read.
    this.decisions.onChange(id => {
      if (this.#policyProblem(id) === null) return
      const session = this.#projects.sessions().find(one => one.id === id)
      if (session !== undefined) notify(this.#listeners, session.status)
    })
  }

  /** Makes this process the owner of a project. Throws `ProjectLockedError` if another process is. */
  async openProject(projectRoot: string): Promise<ProjectReport> {
    const { report } = await this.#projects.get(projectRoot)
    return report
  }

  closeProject(projectRoot: string): Promise<void> {
    return this.#projects.close(projectRoot)
  }

  projects(): string[] {
    return this.#projects.roots()
  }

  /** What was spent on a project on this machine, open or not, with the turns that run here. */
  async spent(projectRoot: string): Promise<ProjectSpending> {
    const open = this.#projects.open.find(project => project.projectRoot === projectRoot)
    return open === undefined ? new ProjectBudget(projectRoot, this.budgets).spent() : open.spent()
  }

  /** What other machines spent on a project, which its budget counts, too. */
  async spentElsewhere(projectRoot: string): Promise<SpentElsewhere[]> {
    return (await this.#context.spentElsewhere(projectRoot))()
  }

  /** The agents that sessions can have, the default first. */
  harnessIds(): HarnessId[] {
    return this.#context.harnesses.getAll().map(({ id }) => id)
  }

  /** Whether an agent could work: it is installed, not too old, and has a login as far as that shows before a turn. */
  async isReady(id: HarnessId): Promise<boolean> {
    const status = await this.#context.harnesses
      .get(id)
      ?.checkInstallStatus()
      .catch(() => undefined)
    return status?.installed === true && status.authenticated && status.support !== 'too-old'
  }

  async createSession(projectRoot: string, options: NewSession = {}): Promise<StoredSession> {
    const { persona = null, mode = 'direct', harness, title, ...chosen } = options
    const { model, thinking, maxTurns, budgetUsd, budgetTokens, budgetMinutes } = chosen
    const permissionMode = keepable(chosen.permissionMode)
    const { project } = await this.#projects.get(projectRoot)
    const budget = { budgetUsd, budgetTokens, budgetMinutes }
    const settings = { model, permissionMode, thinking, maxTurns, ...budget }
    // Checked now, and not only by the first turn.
    await choosePersona({ persona, projectRoot: project.projectRoot }, this.consent)
    const root = project.projectRoot
    const created = { id: options.id, title, harness, model, settings }
    if (options.worktree === undefined) return this.store.create(root, persona, mode, created)
    if ('id' in options.worktree) {
      const { id } = await this.worktrees.get(options.worktree.id)
      return this.store.create(root, persona, mode, { ...created, worktree: id })
    }
    const { base } = options.worktree
    const { worktree } = await this.worktrees.make({ projectRoot: root, title: title ?? '', base })
    try {
      return await this.store.create(root, persona, mode, { ...created, worktree: worktree.id })
    } catch (error) {
      await this.worktrees.remove(worktree.id)
      throw error
    }
  }

  async renameSession(id: string, title: string): Promise<StoredSession> {
    const session = await this.#hosted(id)
    return session.rename(title)
  }

  /** Puts a session on top of the lists, or out of them. */
  async shelveSession(id: string, shelf: Shelf): Promise<StoredSession> {
    return (await this.#hosted(id)).shelve(shelf)
  }

  async forkSession(id: string, options?: ForkOptions): Promise<StoredSession> {
    const session = await this.#hosted(id)
    await session.log.flush().catch(() => {})
    return this.store.fork(id, options)
  }

  /** What the agent of such a fork would get, by the current state. Creates nothing. */
  async forkHistory(id: string, options?: Pick<ForkOptions, 'atSeq'>): Promise<ForkHistory> {
    const session = await this.#hosted(id)
    await session.log.flush().catch(() => {})
    return this.store.forkHistory(id, options)
  }

  /** Stops the session's work, and deletes all its files. Only in a project that this process owns or can own. */
  async deleteSession(id: string): Promise<void> {
    const session = await this.store.get(requireSessionId(id))
    if (session !== undefined) await this.#projects.get(session.projectRoot)
    await this.store.delete(id)
    this.toolServers.lend(id, {})
    if (session !== undefined) await this.changes.forget(session.projectRoot, id)
    // What the worktree has and nobody else is kept, and can be restored.
    if (session?.worktree != null && !(await this.#isUsed(session.worktree, session.projectRoot)))
      await this.worktrees.remove(session.worktree)
    if (session !== undefined) notify(this.#deleted, id)
  }

  /**
   * Removes a worktree, unless an agent works in it; its session can still be read. Resolves with what is kept and can
   * be restored; undefined if all of it is elsewhere too.
   */
  async removeWorktree(id: string): Promise<KeptWork | undefined> {
    const { project } = await this.#projects.get(projectOf(await this.worktrees.get(id)))
    await project.leaveWorktree(id)
    return this.worktrees.remove(id)
  }

  /** The raw logs of some projects that a rule does not keep, and those that stay because they are in use. */
  async rawLogsToPrune(
    projectRoots: readonly string[],
    rule: RawLogRule,
  ): Promise<{ going: RawLog[]; inUse: RawLog[] }> {
    const atWork = new Set(
      this.statuses().flatMap(({ phase, sessionId }) => (phase === 'idle' ? [] : [sessionId])),
    )
    const logs = await Promise.all(projectRoots.map(root => listRawLogs(root, { atWork })))
    return logsToPrune(logs.flat(), rule)
  }

  /**
   * Deletes raw logs that a rule does not keep, never one in use. Opens the projects, because another process could
   * have agents there. Resolves with those that were deleted.
   */
  async pruneRawLogs(projectRoots: readonly string[], rule: RawLogRule): Promise<RawLog[]> {
    for (const root of projectRoots) await this.#projects.get(root)
    const { going } = await this.rawLogsToPrune(projectRoots, rule)
    return removeRawLogs(going)
  }

  /** Imports one of the agent's own conversations of a folder as a session, once: an ImportError if it is here already. */
  async importSession(harnessId: HarnessId, nativeSessionId: string, cwd: string): Promise<StoredSession> {
    const harness = this.#context.harnesses.getOrThrow(harnessId)
    if (harness.importSession === undefined)
      throw new StorageError('not-found', '', `${harnessId} keeps no conversations that can be imported.`)
    const load = harness.importSession.bind(harness)
    // An agent may take minutes to repeat a conversation, and who waits asks again.
    return this.#imports.run(`${conversationKeeper(harnessId)} ${nativeSessionId}`, async () => {
      await refuseKnown(this.store, { nativeSessionId, harness: harnessId, projectRoot: cwd })
      const imported = await load(nativeSessionId, cwd)
      // An agent may find it in another folder, and importing would open that one.
      if (realPath(imported.session.projectRoot) !== realPath(cwd))
        throw new HarnessError(
          `${harnessId} has no conversation ${nativeSessionId} in ${cwd}.`,
          'session_not_found',
          harnessId,
        )
      await this.#projects.get(imported.session.projectRoot)
      return importNative(this.store, imported)
    })
  }

  /** Opens its project if needed. Throws a StorageError `not-found` if there is no such session. */
  session(id: string): Promise<LiveSession> {
    return this.#hosted(id)
  }

  /** Like `session()`, but opens nothing: undefined if the session is not open here. */
  openSession(id: string): LiveSession | undefined {
    return this.#projects.session(id)
  }

  /** Frees what an open session holds. False if it is in use. Who asks for it later opens it again. */
  async letGo(id: string): Promise<boolean> {
    const owner = this.#projects.open.find(project => project.find(id) !== undefined)
    return owner === undefined || owner.letGo(id)
  }

  /** The state of the open sessions; the store lists all. */
  statuses(): SessionStatus[] {
    return this.#projects.sessions().map(session => session.status)
  }

  /** Called for every change of any session. */
  onStatus(listener: (status: SessionStatus) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Called when a session and all its files are deleted. */
  onDeleted(listener: (sessionId: string) => void): () => void {
    this.#deleted.add(listener)
    return () => this.#deleted.delete(listener)
  }

  /** Resolves when what a killed process left half done in the files of an open project is finished. Never rejects. */
  movesRecovered(projectRoot: string): Promise<void> {
    return this.#projects.movesRecovered(projectRoot)
  }

  /** For `onLog` of a harness: its lines go to the harness.log of the session's project. */
  log(entry: RunnerLogEntry): void {
    for (const project of this.#projects.open) project.relay(entry)
  }

  /** An error that belongs to no session: written to harness.log of every open project. */
  logFault(error: unknown): void {
    for (const project of this.#projects.open) project.logFault(error)
  }

  /**
   * With `leave` agents work on, and the next host of their project adopts them. Rejects if a log could not be written
   * completely; everything is closed in that case too.
   */
  async close({ agents = 'stop' }: { agents?: 'stop' | 'leave' } = {}): Promise<void> {
    try {
      await this.#projects.closeAll(agents)
    } finally {
      const harnesses = this.#context.harnesses.getAll()
      await allDone(
        harnesses.map(async harness => (agents === 'stop' ? harness.close() : harness.endLookups?.())),
      )
      await this.changes.close()
      // Those of a killed host whose agents worked on, and have ended by now.
      await sweepTempFolders({}, { isNow: true })
    }
  }

  async #hosted(id: string): Promise<HostedSession> {
    const open = this.#projects.session(id)
    if (open !== undefined) return open
    const stored = await this.store.resume(id)
    const { project } = await this.#projects.get(stored.projectRoot)
    return (await project.session(stored)).session
  }

  /** A session that went back to an earlier turn shares its worktree with the one that it came from. */
  async #isUsed(worktree: string, projectRoot: string): Promise<boolean> {
    const isWanted = (session: StoredSession) => session.worktree === worktree
    return (await this.store.page({ projectRoot, limit: 1, isWanted })).sessions.length > 0
  }

  async #stop(id: string): Promise<void> {
    this.decisions.closeSession(id)
    for (const project of this.#projects.open) await project.stop(id)
  }

  #policyProblem(sessionId: string): string | null {
    const waiting = this.decisions.pending(sessionId)
    return waiting.find(({ policyProblem }) => policyProblem !== undefined)?.policyProblem ?? null
  }

  #warn(sessionId: string, message: string): void {
    const session = this.#projects.sessions().find(({ id }) => id === sessionId)
    if (session === undefined || session.log.health.state === 'paused') return
    const { turnId } = session.status
    session.log.append({ type: 'status', sessionId, status: 'notice', level: 'warn', message }, { turnId })
  }
}

function notify<T>(listeners: ReadonlySet<(news: T) => void>, news: T): void {
  for (const listener of [...listeners]) {
    try {
      listener(news)
    } catch {
      // A failing listener must not disturb the session.
    }
  }
}
