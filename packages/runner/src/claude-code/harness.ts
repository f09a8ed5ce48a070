import {
  type ClaudeEvent,
  DEFAULT_MAX_TURNS,
  HarnessError,
  type HarnessQuery,
  type PermissionMode,
} from '@chirality/core'
import { processEnv } from '../process/system/process-env.ts'
import { traceProcess } from '../process/traced-process.ts'
import { AgentHarness, type HarnessAgent, type NewTurn, type Offered } from '../turn/create-harness.ts'
import { KeptAgents } from '../turn/kept-agents.ts'
import { adoptedAttempts, processPlan, startedAttempts } from '../turn/process-turn.ts'
import { startFailure } from '../turn/start-failure.ts'
import { type ClaudeCodeHarnessConfig, type ClaudeContext, PLAIN_VARIANT } from './config.ts'
import { CLAUDE_CAPABILITIES, CLAUDE_META, CLAUDE_MODELS, WARM_CAPABILITIES } from './descriptor.ts'
import { readsAgentsFile } from './install/agents-file.ts'
import { claudeInstallStatus } from './install/install-status.ts'
import { claudeProjectFiles } from './install/project-files.ts'
import { discoverClaudeOffer, withSkills } from './install/slash-commands.ts'
import { ALL_TOOLS } from './launch/args.ts'
import { claudeConversations } from './native-sessions/carry.ts'
import { importClaudeSession } from './native-sessions/import.ts'
import { listClaudeSessions } from './native-sessions/list.ts'
import { queryClaude } from './run/query.ts'
import { type ClaudeRequest, type ClaudeResponse, runClaudeOnce } from './run/run-once.ts'
import { claudeProgram, fromTheBeginning } from './turn-program.ts'
import type { LiveClaude } from './warm/live-claude.ts'
import { type LivePool, liveLaunch, setMode } from './warm/live-launch.ts'
import { warmPlan } from './warm/warm-turn.ts'

/** Runs Claude Code: by default in a process that a session keeps between its turns, else in one for each turn. */
export class ClaudeCodeHarness extends AgentHarness<ClaudeEvent> {
  declare readonly adoptTurn: Offered<'adoptTurn'>
  declare readonly listNativeSessions: Offered<'listNativeSessions'>
  declare readonly importSession: Offered<'importSession'>
  declare readonly projectFiles: Offered<'projectFiles'>
  readonly #context: ClaudeContext

  constructor(config: ClaudeCodeHarnessConfig = {}) {
    const context = { config, environment: processEnv(config.environment) }
    super(config.keepAlive === false ? claudeAgent(context) : warmClaudeAgent(context))
    this.#context = context
  }

  /** Runs one prompt and returns the full answer, with the path of the raw log. */
  run(request: ClaudeRequest): Promise<ClaudeResponse> {
    return runClaudeOnce(request, this.#context)
  }
}

/** Plans a turn in a process of its own. */
function claudeAgent(context: ClaudeContext): HarnessAgent<ClaudeEvent> {
  const { environment } = context
  const program = claudeProgram(context)
  return {
    meta: CLAUDE_META,
    models: CLAUDE_MODELS,
    capabilities: CLAUDE_CAPABILITIES,
    installStatus: signal => claudeInstallStatus(context, signal),
    query: query => queryClaude(query, context),
    plan: ({ session, turnId, query, opts }) => {
      const source = startedAttempts(checked(query, context), program)
      return processPlan({ session, turnId, opts, program, source })
    },
    adopt: ({ session, trace, opts: { signal } }) => {
      const { program: reader, trace: whole } = fromTheBeginning(trace, program)
      const source = adoptedAttempts(whole, signal)
      return processPlan({ program: reader, session, turnId: trace.turnId, source })
    },
    slashCommands: async (cwd, signal, { trustProject = false } = {}) =>
      withSkills(
        (await discoverClaudeOffer(cwd, context, { signal, trustProject })).commands,
        cwd,
        environment,
      ),
    offeredModels: async (cwd, signal) => (await discoverClaudeOffer(cwd, context, { signal })).models,
    projectFiles: cwd => claudeProjectFiles(cwd, environment),
    readsAgentsFile: (cwd, opts) => readsAgentsFile(cwd, opts, context),
    conversations: claudeConversations(environment, CLAUDE_META.id),
    nativeSessions: {
      list: options => listClaudeSessions({ ...options, environment }),
      import: (nativeSessionId, cwd) => importClaudeSession(nativeSessionId, { environment, cwd }),
    },
  }
}

/** Plans a turn in the session's kept process. */
export function warmClaudeAgent(context: ClaudeContext): HarnessAgent<ClaudeEvent> {
  const { config, environment, variant = PLAIN_VARIANT } = context
  const { harnessId } = variant.agent
  const pool: LivePool = new KeptAgents({ ...config, agent: variant.agent })
  const cold = claudeAgent(context)
  return {
    ...cold,
    capabilities: WARM_CAPABILITIES,
    plan: turn => warmPlan({ ...turn, query: checked(turn.query, context), context, pool }),
    kept: pool,
    prewarm: (turn, signal) =>
      startAhead({ ...turn, query: checked(turn.query, context) }, { context, pool, signal }),
    /** `bypassPermissions` can only be chosen for a turn. */
    setMode: async (sessionId, mode) => {
      if (!SETTABLE_MODES.has(mode)) {
        const message = `The permission mode ${mode} cannot be set while the agent runs.`
        throw new HarnessError(message, 'unsupported', harnessId)
      }
      const live = pool.get(sessionId)
      try {
        if (live) await setMode(live, mode, variant.agent)
      } catch (error) {
        if (error instanceof HarnessError) throw error
        // If the agent has exited meanwhile, the next one is started with the mode.
        if (live?.isUsable) throw new HarnessError(`${mode}: ${String(error)}`, 'unsupported', harnessId)
      }
    },
    contextUsage: async sessionId =>
      pool
        .get(sessionId)
        ?.contextUsage()
        .catch(() => undefined),
    slashCommands: async (cwd, signal, { trustProject = false } = {}) => {
      const isLike = ({ launch }: LiveClaude) =>
        launch.cwd === cwd && (launch.query.trustProject ?? false) === trustProject
      const known = await pool.all().find(isLike)?.offer()
      return known
        ? withSkills(known.commands, cwd, environment)
        : (cold.slashCommands?.(cwd, signal, { trustProject }) ?? [])
    },
    offeredModels: async (cwd, signal) =>
      (await pool.all()[0]?.offer())?.models ?? cold.offeredModels?.(cwd, signal) ?? [],
  }
}

interface AheadOptions {
  context: ClaudeContext
  pool: LivePool
  signal: AbortSignal
}

/** Resolves when the agent is ready for a message. The first turn uses this agent if it asks for the same options. */
async function startAhead(
  { session, turnId, query, opts }: NewTurn,
  { context, pool, signal }: AheadOptions,
): Promise<void> {
  const { decide, guard, onProcess } = opts
  const sessionId = session.id
  const asks = decide !== undefined
  const launch = liveLaunch(query, { context, asks, guard, sessionId, turnId })
  const { agent: live, release } = await pool.acquire({ sessionId, launch, signal })
  try {
    onProcess?.(await traceProcess(live.process))
    await live.initialize()
  } catch (error) {
    throw startFailure(error, claudeProgram(context))
  } finally {
    await release()
  }
}

const SETTABLE_MODES: ReadonlySet<string> = new Set<PermissionMode>([
  'default',
  'acceptEdits',
  'auto',
  'dontAsk',
  'plan',
])

/** Applies the specification's defaults for a turn: all tools, and 25 rounds unless the query asks for no limit. */
function checked(query: HarnessQuery, { variant = PLAIN_VARIANT }: ClaudeContext): HarnessQuery {
  const { permissionMode, tools = ALL_TOOLS, maxTurns = DEFAULT_MAX_TURNS } = query
  // 2.1.197 accepts any word as a mode, so it is checked here.
  if (permissionMode && permissionMode !== 'bypassPermissions' && !SETTABLE_MODES.has(permissionMode)) {
    const message = `There is no permission mode ${permissionMode}.`
    throw new HarnessError(message, 'invalid_query', variant.agent.harnessId)
  }
  return { ...query, tools, maxTurns }
}
