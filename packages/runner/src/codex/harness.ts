import type { CodexEvent } from '@chirality/core'
import { processEnv } from '../process/system/process-env.ts'
import { AgentHarness, type HarnessAgent, type Offered } from '../turn/create-harness.ts'
import { KeptAgents } from '../turn/kept-agents.ts'
import { adoptedCodexPlan } from './adopted-turn.ts'
import type { AppServer } from './app-server/app-server.ts'
import { CODEX, type CodexContext, type CodexHarnessConfig } from './config.ts'
import { CODEX_CAPABILITIES, CODEX_META, CODEX_MODELS, EXEC_CAPABILITIES } from './descriptor.ts'
import { importCodexSession, listCodexSessions } from './native-sessions/native-sessions.ts'
import { unheldRules } from './options/permissions.ts'
import { codexInstallStatus } from './program/install-status.ts'
import { queryCodex } from './query.ts'
import { codexPlan, prewarmCodex } from './turn.ts'

/** Runs Codex: preferably through its app-server, which is kept between turns; otherwise one `exec` for each turn. */
export class CodexHarness extends AgentHarness<CodexEvent> {
  declare readonly adoptTurn: Offered<'adoptTurn'>
  declare readonly listNativeSessions: Offered<'listNativeSessions'>
  declare readonly importSession: Offered<'importSession'>
  declare readonly unheldRules: Offered<'unheldRules'>
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
    installStatus: () => codexInstallStatus({ binaryPath: config.binaryPath, environment }),
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
    unheldRules,
    nativeSessions: {
      list: options => listCodexSessions(options, context),
      import: nativeSessionId => importCodexSession(nativeSessionId, context),
    },
  }
}
