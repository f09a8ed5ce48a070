import { randomUUID } from 'node:crypto'
import {
  type AdoptTurnOpts,
  type CageLevel,
  type ContextUsage,
  HarnessBusyError,
  type HarnessCapabilities,
  HarnessError,
  type HarnessEvent,
  type HarnessInstallStatus,
  type HarnessMeta,
  type HarnessModel,
  type HarnessQuery,
  type HarnessTurnOpts,
  type ImportedSession,
  type ListNativeSessionsOptions,
  type NativeSession,
  type PermissionMode,
  type Session,
  type SessionHarness,
  type SlashCommand,
  type TakeBatch,
  type TurnEvents,
  type TurnTrace,
  type UIEvent,
} from '@chirality/core'
import { anySignal } from '../common/any-signal.ts'
import {
  type ConversationKeeper,
  readConversation,
  writeConversation,
} from '../native-sessions/conversation-files.ts'
import type { Connection, TurnPlan } from './connection.ts'
import { emitted, LEFT } from './emitted.ts'
import { Lookups } from './lookups.ts'
import { Turn } from './turn.ts'
import { turnQuery } from './turn-query.ts'

// How an agent becomes a harness. An agent's folder describes the agent; what is the same for every agent is here and in `Turn`.
//
//   createHarness({
//     meta, models, capabilities,              what it is, as its descriptor says
//     installStatus(signal), query(query),     without a session
//     plan({ session, turnId, query, opts }),  one turn: `prompt()` checks the message, `open()` gives a Connection
//     adopt?({ session, trace, opts }),        one turn of an earlier Chirality
//     kept?, prewarm?, setMode?, contextUsage?, nativeSessions?, conversations?, slashCommands?, projectFiles?, unheldRules?,
//     commandSandbox?, offeredModels?
//   })
//
// An agent that runs one process for each turn writes no Connection: `processPlan({ program, ... })` makes the plan from a
// `TurnProgram`, which says how the command is put together and how a line of its output is read.

/** Everything that is particular to one agent. The harness has no method for a part that is missing here. */
export interface HarnessAgent<M = unknown> {
  readonly meta: HarnessMeta
  readonly models: readonly HarnessModel[]
  /** A capability that is announced without its method is refused. */
  readonly capabilities: HarnessCapabilities
  /** Ends what it started when the signal is aborted, and settles only then; so do `slashCommands` and `nativeSessions`. */
  installStatus(signal: AbortSignal): Promise<HarnessInstallStatus>
  query(query: HarnessQuery): AsyncGenerator<HarnessEvent<M>>
  /** Throws for a query that the agent cannot run. No process is started before the plan is run. */
  plan(turn: NewTurn): TurnPlan
  adopt?(turn: BegunTurn): TurnPlan
  /** Ends the processes that a session keeps between its turns. */
  readonly kept?: Kept
  /** Starts the agent that the turn would use. Offered with `supportsPrewarm`. Rejects when the signal is aborted. */
  prewarm?(turn: NewTurn, signal: AbortSignal): Promise<void>
  /**
   * Sets the permission mode of a working or kept agent. Throws for a mode that cannot be set. The harness stores the
   * mode.
   */
  setMode?(sessionId: string, mode: PermissionMode, connection: Connection | null): Promise<void>
  contextUsage?(sessionId: string): Promise<ContextUsage | undefined>
  /** Undefined if the agent has no slash commands. */
  slashCommands?: SessionHarness['discoverSlashCommands']
  offeredModels?: SessionHarness['discoverModels']
  readonly projectFiles?: SessionHarness['projectFiles']
  readonly unheldRules?: SessionHarness['unheldRules']
  readonly readsAgentsFile?: SessionHarness['readsAgentsFile']
  readonly commandSandbox?: SessionHarness['commandSandbox']
  readonly nativeSessions?: NativeSessions
  readonly conversations?: ConversationKeeper
}

/** The input of `plan()`. */
export interface NewTurn {
  session: Session
  turnId: string
  /** The message with the options, in the permission mode that was set for the session if the turn names none. */
  query: HarnessQuery
  opts: HarnessTurnOpts
}

/** A turn that a server which has exited started. */
export interface BegunTurn {
  session: Session
  trace: TurnTrace
  opts: AdoptTurnOpts
}

/** A method that some harnesses lack, as a harness that has it declares it. */
export type Offered<Name extends keyof SessionHarness> = NonNullable<SessionHarness[Name]>

export interface Kept {
  /** Ends the session's kept processes. Resolves once none of them runs any more. */
  kill(sessionId: string): Promise<void>
  /** Like `kill()`, and also forgets the session. */
  release(sessionId: string): Promise<void>
  /** Starts no process from the call on. Ends the kept ones when the running turns have ended. */
  close(turnsEnded: Promise<unknown>): Promise<void>
}

export interface NativeSessions {
  list(options: ListNativeSessionsOptions, signal: AbortSignal): Promise<NativeSession[]>
  import(nativeSessionId: string, cwd: string | undefined, signal: AbortSignal): Promise<ImportedSession>
}

export function createHarness<M>(agent: HarnessAgent<M>): SessionHarness<M> {
  return new AgentHarness(agent)
}

/**
 * The result of `createHarness`. It is a class so that a harness can be created with `new`, as the specification says.
 */
export class AgentHarness<M = unknown> implements SessionHarness<M> {
  readonly id: string
  readonly adoptTurn?: Offered<'adoptTurn'>
  readonly steer?: Offered<'steer'>
  readonly prewarm?: Offered<'prewarm'>
  readonly setPermissionMode?: Offered<'setPermissionMode'>
  readonly contextUsage?: Offered<'contextUsage'>
  readonly discoverModels?: Offered<'discoverModels'>
  readonly projectFiles?: Offered<'projectFiles'>
  readonly unheldRules?: Offered<'unheldRules'>
  readonly readsAgentsFile?: Offered<'readsAgentsFile'>
  readonly commandSandbox?: Offered<'commandSandbox'>
  readonly listNativeSessions?: Offered<'listNativeSessions'>
  readonly importSession?: Offered<'importSession'>
  readonly conversationFiles?: Offered<'conversationFiles'>
  readonly placeConversation?: Offered<'placeConversation'>
  readonly #agent: HarnessAgent<M>
  readonly #turns = new Map<string, Turn>()
  readonly #lookups: Lookups
  /** Agents that are started ahead of their session's turn. Stopping that turn also cancels the start. */
  readonly #ahead = new Map<AbortController, string>()
  /** The permission modes that were set between turns, by session. */
  readonly #modes = new Map<string, PermissionMode>()

  constructor(agent: HarnessAgent<M>) {
    this.#agent = agent
    this.id = agent.meta.id
    this.#lookups = new Lookups(this.id)
    const { adopt, prewarm, setMode, contextUsage, projectFiles, unheldRules, readsAgentsFile } = agent
    const { commandSandbox, offeredModels } = agent
    const { nativeSessions, conversations } = agent
    if (adopt) {
      this.adoptTurn = (session, trace, opts = {}) =>
        this.#events(session, () => {
          const plan = adopt.call(agent, { session, trace, opts })
          return new Turn({ plan, session, turnId: trace.turnId, opts })
        })
    }
    const steer: Offered<'steer'> = (...message) => this.#steer(...message)
    // An agent may announce it only when it is started.
    Object.defineProperty(this, 'steer', {
      get: () => (agent.capabilities.supportsSteering ? steer : undefined),
    })
    if (agent.capabilities.supportsPrewarm) {
      if (!prewarm) throw new Error(`${this.id} supports prewarm, and its agent has no method for it.`)
      this.prewarm = (session, opts = {}) => this.#prewarm(session, opts)
    }
    if (setMode) this.setPermissionMode = (sessionId, mode) => this.#setMode(sessionId, mode)
    if (contextUsage) this.contextUsage = sessionId => contextUsage.call(agent, sessionId)
    if (offeredModels) this.discoverModels = (cwd, signal) => this.#discoverModels(cwd, signal)
    if (projectFiles) this.projectFiles = projectFiles
    if (unheldRules) this.unheldRules = unheldRules
    if (readsAgentsFile) this.readsAgentsFile = readsAgentsFile
    if (commandSandbox) this.commandSandbox = commandSandbox
    if (conversations) {
      this.conversationFiles = place => readConversation(conversations, place)
      this.placeConversation = (place, files) => writeConversation(conversations, place, files)
    }
    if (!nativeSessions) return
    this.listNativeSessions = (options = {}) =>
      this.#lookups.ask(signal => nativeSessions.list(options, signal))
    this.importSession = (nativeSessionId, cwd) =>
      this.#lookups.ask(signal => nativeSessions.import(nativeSessionId, cwd, signal))
  }

  meta(): HarnessMeta {
    return this.#agent.meta
  }

  models(): HarnessModel[] {
    return [...this.#agent.models]
  }

  capabilities(): HarnessCapabilities {
    return this.#agent.capabilities
  }

  checkInstallStatus(): Promise<HarnessInstallStatus> {
    return this.#lookups.ask(signal => this.#agent.installStatus(signal))
  }

  async discoverSlashCommands(
    ...[cwd, given, opts]: Parameters<SessionHarness['discoverSlashCommands']>
  ): Promise<SlashCommand[]> {
    const commands = await this.#lookups.ask(async ending => {
      const signal = given === undefined ? ending : anySignal([given, ending])
      return this.#agent.slashCommands?.(cwd, signal, opts)
    })
    return commands ?? []
  }

  async #discoverModels(cwd: string, given?: AbortSignal): Promise<HarnessModel[]> {
    const models = await this.#lookups.ask(async ending => {
      const signal = given === undefined ? ending : anySignal([given, ending])
      return this.#agent.offeredModels?.(cwd, signal)
    })
    return models?.length ? models : this.models()
  }

  query(query: HarnessQuery): AsyncGenerator<HarnessEvent<M>> {
    this.#refuseAutoMode(query.permissionMode)
    this.#refuseCage(query.cage)
    return this.#agent.query(query)
  }

  startTurn(session: Session, message: string, opts: HarnessTurnOpts = {}): TurnEvents {
    return this.#events(session, () => {
      const turn = this.#newTurn(session, message, opts)
      return new Turn({ ...turn, plan: this.#agent.plan(turn) })
    })
  }

  /** Like Ctrl-C. An agent that ignores it is killed. */
  interrupt(sessionId: string): void {
    this.#giveUpAhead(sessionId)
    this.#turns.get(sessionId)?.interrupt()
  }

  /**
   * SIGTERM, and SIGKILL after 5 s, for the agent and all its child processes; also for an agent that is kept without a
   * turn.
   */
  async kill(sessionId: string): Promise<void> {
    await this.#end(sessionId)
    await this.#agent.kept?.kill(sessionId)
  }

  async release(sessionId: string): Promise<void> {
    await this.#end(sessionId)
    this.#modes.delete(sessionId)
    await this.#agent.kept?.release(sessionId)
  }

  isRunning(sessionId: string): boolean {
    return this.#turns.has(sessionId)
  }

  /** Ends the running turns and the kept agents. */
  async close(): Promise<void> {
    const turnsEnded = Promise.all([...this.#turns.values()].map(turn => turn.kill()))
    // An agent that is started while the turns are being killed would be one process more to end.
    await Promise.all([turnsEnded, this.#agent.kept?.close(turnsEnded), this.endLookups()])
  }

  endLookups(): Promise<void> {
    return this.#lookups.end()
  }

  #newTurn(session: Session, message: string, given: HarnessTurnOpts): NewTurn {
    const permissionMode = given.permissionMode ?? this.#modes.get(session.id)
    const opts: HarnessTurnOpts = permissionMode ? { ...given, permissionMode } : given
    if (!this.#agent.capabilities.supportsDecisions) this.#refuseAsking(opts)
    this.#refuseAutoMode(permissionMode)
    this.#refuseCage(opts.cage)
    const turnId = opts.turnId ?? randomUUID()
    return { session, turnId, query: turnQuery(session, message, opts), opts }
  }

  /** An agent that cannot send permission requests would run the tools that the caller wanted to decide about. */
  #refuseAsking(opts: HarnessTurnOpts): void {
    const asked = (['decide', 'guard'] as const).find(name => opts[name] !== undefined)
    if (asked === undefined) return
    const { id, name } = this.#agent.meta
    throw new HarnessError(`${asked}: ${name} asks nobody in this form.`, 'unsupported', id)
  }

  /** An agent without such a model would take the mode for one of its own, or for none. */
  #refuseAutoMode(mode: PermissionMode | undefined): void {
    if (mode !== 'auto' || this.#agent.capabilities.supportsAutoMode === true) return
    const { id, name } = this.#agent.meta
    throw new HarnessError(`${name} has no permission mode auto.`, 'unsupported', id)
  }

  /** An agent that cannot be caged must not run without the cage that was asked for. */
  #refuseCage(level: CageLevel | undefined): void {
    if (level === undefined || level === 'off' || this.#agent.capabilities.supportsCage === true) return
    const { id, name } = this.#agent.meta
    const message = `${name} cannot run in a cage yet, so it was not started. Use an agent that can, or turn the cage off.`
    throw new HarnessError(message, 'unsupported', id)
  }

  /** The turn ends when the agent has answered all messages. */
  async #steer(...[sessionId, message, images = []]: Parameters<Offered<'steer'>>) {
    const prompt: HarnessQuery['prompt'] =
      images.length > 0 ? [{ type: 'text', text: message }, ...images] : message
    return (await this.#turns.get(sessionId)?.steer(prompt)) ?? false
  }

  /** Resolves when the agent is ready, or when the start is cancelled. */
  async #prewarm(session: Session, opts: HarnessTurnOpts): Promise<void> {
    const { id } = session
    if (this.isRunning(id)) return
    const givingUp = new AbortController()
    this.#ahead.set(givingUp, id)
    try {
      await this.#agent.prewarm?.(this.#newTurn(session, '', opts), givingUp.signal)
    } catch (error) {
      // A turn that began meanwhile may have replaced this start; it reports its own errors.
      if (!givingUp.signal.aborted && !this.isRunning(id)) throw error
    } finally {
      this.#ahead.delete(givingUp)
    }
  }

  async #setMode(sessionId: string, mode: PermissionMode): Promise<void> {
    this.#refuseAutoMode(mode)
    const turn = this.#turns.get(sessionId)
    await this.#agent.setMode?.(sessionId, mode, turn?.connection ?? null)
    if (turn !== undefined) turn.permissionMode = mode
    this.#modes.set(sessionId, mode)
  }

  /** The turn is created when it is run, or its first event is requested; that throws if the session has a running turn. */
  #events({ id }: Session, make: () => Turn): TurnEvents {
    const run = async (take: TakeBatch) => {
      if (this.#turns.has(id)) throw new HarnessBusyError(this.id, id)
      const turn = make()
      this.#turns.set(id, turn)
      const settle = () => {
        if (this.#turns.get(id) === turn) this.#turns.delete(id)
      }
      try {
        await turn.run(batch => {
          // No process of the turn runs any more at this point: a caller may start the next turn as soon as it sees the
          // last event.
          if (batch.some(({ type }) => type === turn.lastEvent)) settle()
          return take(batch)
        })
      } finally {
        settle()
      }
    }
    const events = emitted<UIEvent>(emit =>
      run(async batch => {
        for (const event of batch) await emit(event)
      }),
    )
    return Object.assign(events, { run: (take: TakeBatch) => runUntilRefused(run, take) })
  }

  async #end(sessionId: string): Promise<void> {
    this.#giveUpAhead(sessionId)
    await this.#turns.get(sessionId)?.kill()
  }

  #giveUpAhead(sessionId: string): void {
    for (const [givingUp, startedFor] of this.#ahead) if (startedFor === sessionId) givingUp.abort()
  }
}

/** A reader that refuses a batch leaves the turn like one that returns from the generator early: the agent is stopped. */
async function runUntilRefused(run: (take: TakeBatch) => Promise<void>, take: TakeBatch): Promise<void> {
  let refusal: { error: unknown } | undefined
  const leave = (error: unknown): never => {
    refusal = { error }
    throw LEFT
  }
  try {
    await run(batch => {
      try {
        return take(batch)?.catch(leave)
      } catch (error) {
        return leave(error)
      }
    })
  } catch (error) {
    throw error === LEFT && refusal !== undefined ? refusal.error : error
  }
}
