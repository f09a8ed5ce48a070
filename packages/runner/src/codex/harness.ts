import {
  type CodexEvent,
  createCodexExecTranslator,
  HarnessError,
  type HarnessEvent,
  type HarnessInstallStatus,
  HarnessNotInstalledError,
  type HarnessQuery,
  parseCodexEvent,
  versionSupport,
} from '@chirality/core'
import { buildChildEnv } from '../env/child-env.ts'
import { asTyped } from '../process/program/resolve-executable.ts'
import { runHelper } from '../process/program/run-helper.ts'
import { processEnv } from '../process/system/process-env.ts'
import { AgentHarness, type HarnessAgent, type Offered } from '../turn/create-harness.ts'
import { KeptAgents } from '../turn/kept-agents.ts'
import { queryEnd, queryProcess } from '../turn/query-process.ts'
import { adoptedCodexPlan } from './adopted-turn.ts'
import type { AppServer } from './app-server/app-server.ts'
import { codexFeatures } from './app-server/features.ts'
import { CODEX, type CodexContext, type CodexHarnessConfig } from './config.ts'
import {
  CODEX_CAPABILITIES,
  CODEX_ENVIRONMENT,
  CODEX_ID,
  CODEX_META,
  CODEX_MODELS,
  EXEC_CAPABILITIES,
} from './descriptor.ts'
import { prepareExec } from './exec/exec-program.ts'
import { importCodexSession, listCodexSessions } from './native-sessions/native-sessions.ts'
import { checkThread, heldThreadAdvice, isLostThread, refuseUnsupported } from './options/check-query.ts'
import { unheldByCodex } from './options/permissions.ts'
import { type FindCodexOptions, findCodex } from './program/executable.ts'
import { codexSandbox } from './program/sandbox.ts'
import { codexConversations } from './rollouts/rollout-threads.ts'
import { codexPlan, prewarmCodex } from './turn.ts'

/** Runs Codex: preferably through its app-server, which is kept between turns; otherwise one `exec` for each turn. */
export class CodexHarness extends AgentHarness<CodexEvent> {
  declare readonly adoptTurn: Offered<'adoptTurn'>
  declare readonly listNativeSessions: Offered<'listNativeSessions'>
  declare readonly importSession: Offered<'importSession'>
  declare readonly unheldRules: Offered<'unheldRules'>
  declare readonly commandSandbox: Offered<'commandSandbox'>
  declare readonly contextUsage: Offered<'contextUsage'>
  constructor(config: CodexHarnessConfig = {}) {
    const { tempDir } = config
    const own = processEnv(config.environment)
    const environment = tempDir ? { ...own, TMPDIR: tempDir } : own
    super(codexAgent({ config, environment }))
  }
}

function codexAgent(context: CodexContext): HarnessAgent<CodexEvent> {
  const { config, environment } = context
  const pool = new KeptAgents<AppServer>({ ...config, agent: CODEX })
  /** The thread of each session that had a turn in this process. */
  const threads = new Map<string, string>()
  /** An app-server that other sessions use goes on; only this session's work in it ends. */
  const kill = (sessionId: string) => pool.kill(sessionId, threads.get(sessionId))
  return {
    meta: CODEX_META,
    models: CODEX_MODELS,
    capabilities: config.voice === 'exec' ? EXEC_CAPABILITIES : CODEX_CAPABILITIES,
    installStatus: signal => codexInstallStatus({ binaryPath: config.binaryPath, environment }, signal),
    query: query => queryCodex(query, context),
    plan: turn => {
      const onThread = (threadId: string) => void threads.set(turn.session.id, threadId)
      return codexPlan({ ...turn, context, pool, onThread })
    },
    adopt: ({ session, trace, opts: { signal } }) => adoptedCodexPlan({ session, trace, signal, context }),
    kept: {
      kill,
      release: async sessionId => {
        await kill(sessionId)
        threads.delete(sessionId)
      },
      close: turnsEnded => pool.close(turnsEnded),
    },
    // A session with tools of its own needs a process that is started with the turn.
    prewarm: ({ session, query, opts: { onProcess } }, signal) =>
      prewarmCodex(query, { session, context, pool, onProcess, signal }),
    contextUsage: async sessionId => pool.get(sessionId)?.contexts.get(threads.get(sessionId) ?? ''),
    unheldRules: unheldByCodex,
    // `exec` is told that the folder is not trusted, and then reads no AGENTS.md there.
    readsAgentsFile: async () => config.voice !== 'exec',
    commandSandbox: (cwd, mode = 'default') => codexSandbox(cwd, mode, environment),
    conversations: codexConversations(environment),
    nativeSessions: {
      list: (options, signal) => listCodexSessions(options, context, signal),
      import: (nativeSessionId, _, signal) => importCodexSession(nativeSessionId, context, signal),
    },
  }
}

/** One turn as native events, through `exec`: each query is a process of its own, and no process is kept after it. */
async function* queryCodex(
  query: HarnessQuery,
  context: CodexContext,
): AsyncGenerator<HarnessEvent<CodexEvent>> {
  refuseUnsupported(query)
  checkThread(query)
  if (query.forkAt !== undefined)
    throw new HarnessError(
      'forkAt: a query runs `codex exec`, which forks a whole thread.',
      'unsupported',
      CODEX_ID,
    )
  if (query.signal.aborted) return
  const startedAt = performance.now()
  const invocation = await prepareExec(query, context)
  const { usageBefore } = invocation.facts
  // Used only for its outcome, so that one module decides which results are failures.
  const translator = createCodexExecTranslator({ sessionId: '', usageBefore })
  yield* queryProcess<CodexEvent>({
    agent: CODEX,
    config: context.config,
    query,
    invocation,
    read: record => {
      const event = parseCodexEvent(record.kind === 'json' ? record.value : record)
      translator.translate(event)
      return [...started(event), { type: 'message', message: event }]
    },
    end: said => {
      const { outcome } = translator
      const durationMs = Math.round(performance.now() - startedAt)
      return [outcome ? queryEnd({ ...outcome, durationMs }) : withoutResult(said, query)]
    },
  })
}

function started(event: CodexEvent): HarnessEvent<CodexEvent>[] {
  if (event.type !== 'thread.started' || typeof event.thread_id !== 'string') return []
  return [{ type: 'session_started', sessionId: event.thread_id }]
}

/** Codex reports only on stderr why a turn did not begin. */
function withoutResult(said: string, { resumeSessionId }: HarnessQuery): HarnessEvent<CodexEvent> {
  const advice = heldThreadAdvice(said, resumeSessionId)
  if (advice) return { type: 'error', error: advice, code: 'busy' }
  return { type: 'error', error: said, code: isLostThread(said) ? 'session_not_found' : 'process_crashed' }
}

/** Asks the binary for its version and its login. The login says that a key exists, not that it is valid. */
async function codexInstallStatus(
  options: FindCodexOptions,
  signal: AbortSignal,
): Promise<HarnessInstallStatus> {
  let binary: string
  try {
    binary = await findCodex(options)
  } catch (error) {
    if (!(error instanceof HarnessNotInstalledError)) throw error
    return { installed: false, authType: 'none', authenticated: false, authInstructions: error.instructions }
  }
  const { env } = buildChildEnv({ source: options.environment, own: CODEX_ENVIRONMENT })
  const { version: number } = await codexFeatures(binary, env, { signal })
  if (number === undefined) {
    const authInstructions = `${binary} does not answer --version as Codex does. Is it the right binary?`
    return { installed: false, path: binary, authType: 'none', authenticated: false, authInstructions }
  }
  // Run only after the version check: another program could interpret these arguments in any way.
  const login = await runHelper(binary, ['login', 'status'], { env, signal })
  // `exec` reads the key from this variable, and an app-server gets it from us; `login status` ignores it.
  const authType = env.CODEX_API_KEY ? 'api-key' : authTypeOf(login.code, `${login.stdout}${login.stderr}`)
  const authenticated = authType !== 'none'
  return {
    installed: true,
    version: number,
    support: versionSupport(number, CODEX_META.versions),
    path: binary,
    authType,
    authenticated,
    ...(authenticated ? {} : { authInstructions: await loginInstructions(binary, options.environment) }),
  }
}

async function loginInstructions(binary: string, { PATH }: Record<string, string>): Promise<string> {
  return `Run \`${await asTyped('codex', binary, PATH)} login\`, or set CODEX_API_KEY.`
}

function authTypeOf(code: number | null, said: string): HarnessInstallStatus['authType'] {
  if (code !== 0) return 'none'
  return /api key/i.test(said) ? 'api-key' : 'account'
}
