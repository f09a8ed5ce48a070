import {
  type AdoptTurnOpts,
  type CodexEvent,
  type ContextUsage,
  type GuardRule,
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
  type SlashCommand,
  type TurnTrace,
} from '@chirality/core'
import { processEnv } from '../process/system/process-env.ts'
import type { TurnPlan } from '../turn/connection.ts'
import { type NewTurn, TurnHarness } from '../turn/turn-harness.ts'
import { turnQuery } from '../turn/turn-query.ts'
import { adoptedCodexPlan } from './adopted-turn.ts'
import { AppServerPool } from './app-server/app-server-pool.ts'
import type { CodexContext, CodexHarnessConfig } from './config.ts'
import { CODEX_CAPABILITIES, CODEX_META, CODEX_MODELS, EXEC_CAPABILITIES, HARNESS_ID } from './descriptor.ts'
import { importCodexSession, listCodexSessions } from './native-sessions/native-sessions.ts'
import { unheldRules } from './options/permissions.ts'
import { codexInstallStatus } from './program/install-status.ts'
import { queryCodex } from './query.ts'
import { codexPlan, prewarmCodex } from './turn.ts'

/** Runs Codex: by preference through its app-server, which stays between turns; else one `exec` a turn. */
export class CodexHarness extends TurnHarness<CodexEvent> {
  readonly id = HARNESS_ID
  readonly #context: CodexContext
  readonly #pool: AppServerPool
  /** The thread of each session that had a turn here. */
  readonly #threads = new Map<string, string>()

  constructor(config: CodexHarnessConfig = {}) {
    super()
    const { tempDir } = config
    const environment = processEnv(config.environment)
    this.#context = { config, environment: tempDir ? { ...environment, TMPDIR: tempDir } : environment }
    this.#pool = new AppServerPool(config.idleMs ?? IDLE_MS)
  }

  meta(): HarnessMeta {
    return CODEX_META
  }

  models(): HarnessModel[] {
    return [...CODEX_MODELS]
  }

  capabilities(): HarnessCapabilities {
    return this.#context.config.voice === 'exec' ? EXEC_CAPABILITIES : CODEX_CAPABILITIES
  }

  checkInstallStatus(): Promise<HarnessInstallStatus> {
    const { config, environment } = this.#context
    return codexInstallStatus({ binaryPath: config.binaryPath, environment })
  }

  unheldRules(rules: readonly GuardRule[], mode: PermissionMode): string[] {
    return unheldRules(rules, mode)
  }

  /** Codex has skills, but nothing that is typed after a slash in a prompt. */
  async discoverSlashCommands(): Promise<SlashCommand[]> {
    return []
  }

  query(query: HarnessQuery): AsyncGenerator<HarnessEvent<CodexEvent>> {
    return queryCodex(query, this.#context)
  }

  protected override plan({ session, turnId, message, opts }: NewTurn): TurnPlan {
    if (opts.decide && !this.capabilities().supportsDecisions) {
      throw new HarnessError('decide: `codex exec` asks nobody.', 'unsupported', HARNESS_ID)
    }
    if (opts.guard && !this.capabilities().supportsDecisions) {
      throw new HarnessError('guard: `codex exec` asks nobody.', 'unsupported', HARNESS_ID)
    }
    const query = turnQuery(session, message, opts)
    const onThread = (threadId: string) => void this.#threads.set(session.id, threadId)
    return codexPlan({ session, turnId, query, opts, context: this.#context, pool: this.#pool, onThread })
  }

  protected override planAdopted(session: Session, trace: TurnTrace, { signal }: AdoptTurnOpts): TurnPlan {
    return adoptedCodexPlan({ session, trace, signal, context: this.#context })
  }

  /** Starts an app-server. One whose tools belong to it can only be started with the turn. */
  async prewarm(session: Session, opts: HarnessTurnOpts = {}): Promise<void> {
    if (this.#context.config.voice === 'exec') return
    const { onProcess } = opts
    const parts = { session, context: this.#context, pool: this.#pool, onProcess }
    await this.startAhead(session.id, signal =>
      prewarmCodex(turnQuery(session, '', opts), { ...parts, signal }),
    )
  }

  async contextUsage(sessionId: string): Promise<ContextUsage | undefined> {
    return this.#pool.homeOf(sessionId)?.contexts.get(this.#threads.get(sessionId) ?? '')
  }

  /** An app-server that other sessions use goes on for them; what it runs for this session ends. */
  protected override async killKept(sessionId: string): Promise<void> {
    await this.#pool.kill({ sessionId, threadId: this.#threads.get(sessionId) })
  }

  protected override async releaseKept(sessionId: string): Promise<void> {
    await this.killKept(sessionId)
    this.#threads.delete(sessionId)
  }

  protected override closeKept(): Promise<void> {
    return this.#pool.close()
  }

  listNativeSessions(options: ListNativeSessionsOptions = {}): Promise<NativeSession[]> {
    return listCodexSessions(options, this.#context)
  }

  importSession(nativeSessionId: string): Promise<ImportedSession> {
    return importCodexSession(nativeSessionId, this.#context)
  }
}

/** Long enough for a person to read and think; a kept server costs memory. */
const IDLE_MS = 10 * 60_000
