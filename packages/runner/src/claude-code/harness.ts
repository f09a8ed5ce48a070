import { randomUUID } from 'node:crypto'
import type {
  AdoptTurnOpts,
  ClaudeEvent,
  ContextUsage,
  HarnessCapabilities,
  HarnessEvent,
  HarnessId,
  HarnessInstallStatus,
  HarnessMeta,
  HarnessModel,
  HarnessQuery,
  HarnessTurnOpts,
  ImportedSession,
  ListNativeSessionsOptions,
  NativeSession,
  PermissionMode,
  ProjectFiles,
  PromptPart,
  Session,
  SessionHarness,
  SlashCommand,
  TurnTrace,
  UIEvent,
} from '@chirality/core'
import { DEFAULT_MAX_TURNS, HarnessError } from '@chirality/core'
import { processEnv } from '../env/process-env.ts'
import { importClaudeSession } from '../native-sessions/claude-code/import.ts'
import { listClaudeSessions } from '../native-sessions/claude-code/list.ts'
import { traceProcess } from '../process/trace-process.ts'
import { adoptedAttempts, startedAttempts } from '../turn/attempt-source.ts'
import { processTurn } from '../turn/process-turn.ts'
import { RunningTurns } from '../turn/running-turns.ts'
import { startFailure } from '../turn/start-failure.ts'
import { StartsAhead } from '../turn/starts-ahead.ts'
import type { Turn } from '../turn/turn.ts'
import { turnQuery } from '../turn/turn-query.ts'
import { ALL_TOOLS } from './args.ts'
import {
  type ClaudeCodeHarnessConfig,
  type ClaudeContext,
  type ClaudeVariant,
  PLAIN_VARIANT,
} from './config.ts'
import { claudeInstallStatus } from './install-status.ts'
import { CLAUDE_CAPABILITIES, CLAUDE_META, CLAUDE_MODELS, WARM_CAPABILITIES } from './models.ts'
import { claudeProjectFiles } from './project-files.ts'
import { queryClaude } from './query.ts'
import { type ClaudeRequest, type ClaudeResponse, runClaudeOnce } from './run-once.ts'
import { discoverClaudeCommands, withSkills } from './slash-commands.ts'
import { claudeProgram } from './turn-program.ts'
import { setMode } from './warm/adjust.ts'
import { fromTheBeginning } from './warm/adopted.ts'
import type { LiveClaude } from './warm/live-claude.ts'
import { liveLaunch } from './warm/live-launch.ts'
import { LivePool } from './warm/live-pool.ts'
import { WarmTurn, type WarmTurnOptions } from './warm/warm-turn.ts'

/** Runs Claude Code: by default in a process that a session keeps between its turns, else in one for each turn. */
export class ClaudeCodeHarness implements SessionHarness<ClaudeEvent> {
  readonly id: HarnessId
  readonly #context: ClaudeContext
  readonly #turns: RunningTurns<Turn | WarmTurn>
  readonly #pool: LivePool
  readonly #ahead = new StartsAhead()
  /** What was set for sessions, beside their turns. */
  readonly #modes = new Map<string, PermissionMode>()

  constructor(config: ClaudeCodeHarnessConfig = {}, variant: ClaudeVariant = PLAIN_VARIANT) {
    this.id = variant.agent.harnessId
    this.#context = { config, environment: processEnv(config.environment), variant }
    this.#turns = new RunningTurns(this.id)
    this.#pool = new LivePool(config)
  }

  meta(): HarnessMeta {
    return CLAUDE_META
  }

  models(): HarnessModel[] {
    return [...CLAUDE_MODELS]
  }

  capabilities(): HarnessCapabilities {
    return this.#isWarm ? WARM_CAPABILITIES : CLAUDE_CAPABILITIES
  }

  checkInstallStatus(): Promise<HarnessInstallStatus> {
    return claudeInstallStatus(this.#context)
  }

  async discoverSlashCommands(
    cwd: string,
    signal?: AbortSignal,
    { trustProject = false }: Pick<HarnessQuery, 'trustProject'> = {},
  ): Promise<SlashCommand[]> {
    const isLike = ({ launch }: LiveClaude) =>
      launch.cwd === cwd && (launch.query.trustProject ?? false) === trustProject
    const known = await this.#pool.all().find(isLike)?.commands()
    const found = known ?? (await discoverClaudeCommands(cwd, this.#context, { signal, trustProject }))
    return withSkills(found, cwd, this.#context.environment)
  }

  projectFiles(cwd: string): Promise<ProjectFiles> {
    return claudeProjectFiles(cwd, this.#context.environment)
  }

  query(query: HarnessQuery): AsyncGenerator<HarnessEvent<ClaudeEvent>> {
    return queryClaude(query, this.#context)
  }

  /** One prompt, one full answer, and the path of the raw log. */
  run(request: ClaudeRequest): Promise<ClaudeResponse> {
    return runClaudeOnce(request, this.#context)
  }

  /**
   * One turn of a session as UI events. Starts when the first event is asked for, and rejects then if the session
   * has a turn running. The last event is `turn:end`, or `process:exit` where the turn has a process of its own;
   * leaving the loop early stops the agent.
   */
  startTurn(session: Session, userMessage: string, opts: HarnessTurnOpts = {}): AsyncGenerator<UIEvent> {
    return this.#turns.run(session.id, () => {
      const turnId = opts.turnId ?? randomUUID()
      const query = withDefaults(turnQuery(session, userMessage, this.#withMode(session.id, opts)))
      return this.#turn({ session, turnId, query, opts })
    })
  }

  /** All that the turn printed, and what it still prints, as the events that `startTurn` gave. */
  async *adoptTurn(session: Session, trace: TurnTrace, opts: AdoptTurnOpts = {}): AsyncGenerator<UIEvent> {
    const { program, trace: whole } = fromTheBeginning(trace, claudeProgram(this.#context))
    const source = adoptedAttempts(whole, opts.signal)
    yield* this.#turns.run(session.id, () =>
      processTurn({ program, session, turnId: trace.turnId, opts, source }),
    )
  }

  /**
   * The agent takes the message up at its next step, or after its answer; the turn ends when it has dealt with all of
   * them.
   */
  async steer(sessionId: string, message: string, images: PromptPart[] = []): Promise<boolean> {
    const turn = this.#turns.get(sessionId)
    if (!(turn instanceof WarmTurn)) return false
    return turn.steer(images.length > 0 ? [{ type: 'text', text: message }, ...images] : message)
  }

  /** Resolves when the agent is ready, or is given up. The first turn uses it if it asks for the same. */
  async prewarm(session: Session, opts: HarnessTurnOpts = {}): Promise<void> {
    if (!this.#isWarm || this.#turns.has(session.id)) return
    await this.#ahead.run(session.id, signal => this.#startAhead(session, opts, signal))
  }

  async #startAhead(session: Session, opts: HarnessTurnOpts, signal: AbortSignal): Promise<void> {
    const query = withDefaults(turnQuery(session, '', this.#withMode(session.id, opts)))
    const { decide, guard } = opts
    const launch = liveLaunch(query, { context: this.#context, asks: decide !== undefined, guard })
    const turnId = opts.turnId ?? randomUUID()
    const { live, release } = await this.#pool.acquire({ sessionId: session.id, turnId, launch, signal })
    try {
      opts.onProcess?.(await traceProcess(live.process))
      await live.initialize()
    } catch (error) {
      // A turn that asks for something else has taken its place.
      if (this.#turns.has(session.id)) return
      throw startFailure(error, claudeProgram(this.#context))
    } finally {
      await release()
    }
  }

  /** Also for turns to come that do not say another. `bypassPermissions` can only be chosen for a turn. */
  async setPermissionMode(sessionId: string, mode: PermissionMode): Promise<void> {
    if (!this.#isWarm)
      throw this.#unsupported('setPermissionMode: in this form a mode is chosen with the turn.')
    if (!SETTABLE_MODES.has(mode))
      throw this.#unsupported(`The permission mode ${mode} cannot be set while the agent runs.`)
    const live = this.#pool.get(sessionId)
    try {
      if (live) await setMode(live, mode)
    } catch (error) {
      // One that has gone meanwhile is followed by one that is started with it.
      if (live?.isUsable) throw this.#unsupported(`${mode}: ${String(error)}`)
    }
    this.#modes.set(sessionId, mode)
  }

  async contextUsage(sessionId: string): Promise<ContextUsage | undefined> {
    return this.#pool
      .get(sessionId)
      ?.contextUsage()
      .catch(() => undefined)
  }

  /** Like Ctrl-C. If the agent does not heed it, it is ended all the same. */
  interrupt(sessionId: string): void {
    this.#ahead.giveUp(sessionId)
    this.#turns.get(sessionId)?.interrupt()
  }

  /** SIGTERM, and SIGKILL after 5 s, for the agent and all that it started; also for one that is kept without a turn. */
  async kill(sessionId: string): Promise<void> {
    this.#ahead.giveUp(sessionId)
    await this.#turns.get(sessionId)?.kill()
    await this.#pool.kill(sessionId)
  }

  async release(sessionId: string): Promise<void> {
    this.#modes.delete(sessionId)
    this.#ahead.giveUp(sessionId)
    await this.#turns.get(sessionId)?.kill()
    await this.#pool.release(sessionId)
  }

  isRunning(sessionId: string): boolean {
    return this.#turns.has(sessionId)
  }

  listNativeSessions(options: ListNativeSessionsOptions = {}): Promise<NativeSession[]> {
    return listClaudeSessions({ ...options, environment: this.#context.environment })
  }

  importSession(nativeSessionId: string, cwd?: string): Promise<ImportedSession> {
    return importClaudeSession(nativeSessionId, { environment: this.#context.environment, cwd })
  }

  /** Ends the turns that run, and the agents that are kept between turns. */
  async close(): Promise<void> {
    await this.#turns.killAll()
    await this.#pool.close()
  }

  #withMode(sessionId: string, opts: HarnessTurnOpts): HarnessTurnOpts {
    const permissionMode = opts.permissionMode ?? this.#modes.get(sessionId)
    // 2.1.197 takes any word for a mode.
    if (permissionMode && permissionMode !== 'bypassPermissions' && !SETTABLE_MODES.has(permissionMode))
      throw new HarnessError(`There is no permission mode ${permissionMode}.`, 'invalid_query', this.id)
    return { ...opts, permissionMode }
  }

  #unsupported(message: string): HarnessError {
    return new HarnessError(message, 'unsupported', this.id)
  }

  get #isWarm(): boolean {
    return this.#context.config.keepAlive !== false
  }

  #turn(
    turn: Pick<WarmTurnOptions, 'session' | 'turnId' | 'query'> & { opts: HarnessTurnOpts },
  ): WarmTurn | Turn {
    if (this.#isWarm) return new WarmTurn({ ...turn, context: this.#context, pool: this.#pool })
    // A process that is gone after its turn can ask nobody.
    if (turn.opts.decide) throw this.#unsupported('decide: Claude Code asks nobody in this form.')
    if (turn.opts.guard) throw this.#unsupported('guard: Claude Code asks nobody in this form.')
    const program = claudeProgram(this.#context)
    return processTurn({ ...turn, program, source: startedAttempts(turn.query, program) })
  }
}

const SETTABLE_MODES: ReadonlySet<string> = new Set<PermissionMode>([
  'default',
  'acceptEdits',
  'dontAsk',
  'plan',
])

/** The specification's defaults for a turn: all tools, and 25 rounds unless no limit is wanted. */
function withDefaults(query: HarnessQuery): HarnessQuery {
  const { tools = ALL_TOOLS, maxTurns = DEFAULT_MAX_TURNS } = query
  return { ...query, tools, maxTurns }
}
