import { randomUUID } from 'node:crypto'
import {
  type AdoptTurnOpts,
  type ClaudeEvent,
  type ContextUsage,
  DEFAULT_MAX_TURNS,
  type HarnessCapabilities,
  HarnessError,
  type HarnessEvent,
  type HarnessId,
  type HarnessInstallStatus,
  type HarnessMeta,
  type HarnessModel,
  type HarnessQuery,
  type HarnessTurnOpts,
  type ImportedSession,
  type ListNativeSessionsOptions,
  type NativeSession,
  type PermissionMode,
  type ProjectFiles,
  type Session,
  type SlashCommand,
  type TurnTrace,
} from '@chirality/core'
import { processEnv } from '../process/system/process-env.ts'
import { traceProcess } from '../process/traced-process.ts'
import type { TurnPlan } from '../turn/connection.ts'
import { adoptedAttempts, processPlan, startedAttempts } from '../turn/process-turn.ts'
import { startFailure } from '../turn/start-failure.ts'
import { type NewTurn, TurnHarness } from '../turn/turn-harness.ts'
import { turnQuery } from '../turn/turn-query.ts'
import {
  type ClaudeCodeHarnessConfig,
  type ClaudeContext,
  type ClaudeVariant,
  PLAIN_VARIANT,
} from './config.ts'
import { CLAUDE_CAPABILITIES, CLAUDE_META, CLAUDE_MODELS, WARM_CAPABILITIES } from './descriptor.ts'
import { claudeInstallStatus } from './install/install-status.ts'
import { claudeProjectFiles } from './install/project-files.ts'
import { discoverClaudeCommands, withSkills } from './install/slash-commands.ts'
import { ALL_TOOLS } from './launch/args.ts'
import { importClaudeSession } from './native-sessions/import.ts'
import { listClaudeSessions } from './native-sessions/list.ts'
import { queryClaude } from './run/query.ts'
import { type ClaudeRequest, type ClaudeResponse, runClaudeOnce } from './run/run-once.ts'
import { claudeProgram, fromTheBeginning } from './turn-program.ts'
import type { LiveClaude } from './warm/live-claude.ts'
import { liveLaunch, setMode } from './warm/live-launch.ts'
import { LivePool } from './warm/live-pool.ts'
import { warmPlan } from './warm/warm-turn.ts'

/** Runs Claude Code: by default in a process that a session keeps between its turns, else in one for each turn. */
export class ClaudeCodeHarness extends TurnHarness<ClaudeEvent> {
  readonly id: HarnessId
  readonly #context: ClaudeContext
  readonly #pool: LivePool
  /** What was set for sessions, beside their turns. */
  readonly #modes = new Map<string, PermissionMode>()

  constructor(config: ClaudeCodeHarnessConfig = {}, variant: ClaudeVariant = PLAIN_VARIANT) {
    super()
    this.id = variant.agent.harnessId
    this.#context = { config, environment: processEnv(config.environment), variant }
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

  protected override plan({ session, turnId, message, opts }: NewTurn): TurnPlan {
    const query = withDefaults(turnQuery(session, message, this.#withMode(session.id, opts)))
    const turn = { session, turnId, query, opts }
    if (this.#isWarm) return warmPlan({ ...turn, context: this.#context, pool: this.#pool })
    // A process that is gone after its turn can ask nobody.
    if (opts.decide) throw this.#unsupported('decide: Claude Code asks nobody in this form.')
    if (opts.guard) throw this.#unsupported('guard: Claude Code asks nobody in this form.')
    const program = claudeProgram(this.#context)
    return processPlan({ ...turn, program, source: startedAttempts(query, program) })
  }

  protected override planAdopted(session: Session, trace: TurnTrace, { signal }: AdoptTurnOpts): TurnPlan {
    const { program, trace: whole } = fromTheBeginning(trace, claudeProgram(this.#context))
    return processPlan({ program, session, turnId: trace.turnId, source: adoptedAttempts(whole, signal) })
  }

  /** Resolves when the agent is ready, or is given up. The first turn uses it if it asks for the same. */
  async prewarm(session: Session, opts: HarnessTurnOpts = {}): Promise<void> {
    if (!this.#isWarm || this.isRunning(session.id)) return
    await this.startAhead(session.id, signal => this.#start(session, opts, signal))
  }

  async #start(session: Session, opts: HarnessTurnOpts, signal: AbortSignal): Promise<void> {
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
      if (this.isRunning(session.id)) return
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

  protected override killKept(sessionId: string): Promise<void> {
    return this.#pool.kill(sessionId)
  }

  protected override async releaseKept(sessionId: string): Promise<void> {
    this.#modes.delete(sessionId)
    await this.#pool.release(sessionId)
  }

  protected override closeKept(): Promise<void> {
    return this.#pool.close()
  }

  listNativeSessions(options: ListNativeSessionsOptions = {}): Promise<NativeSession[]> {
    return listClaudeSessions({ ...options, environment: this.#context.environment })
  }

  importSession(nativeSessionId: string, cwd?: string): Promise<ImportedSession> {
    return importClaudeSession(nativeSessionId, { environment: this.#context.environment, cwd })
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
