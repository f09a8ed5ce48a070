import type {
  AdoptTurnOpts,
  CodexEvent,
  ContextUsage,
  GuardRule,
  HarnessCapabilities,
  HarnessEvent,
  HarnessInstallStatus,
  HarnessMeta,
  HarnessModel,
  HarnessQuery,
  HarnessTurnOpts,
  ImportedSession,
  ListNativeSessionsOptions,
  NativeSession,
  PermissionMode,
  PromptPart,
  Session,
  SessionHarness,
  SlashCommand,
  TurnTrace,
  UIEvent,
} from '@chirality/core'
import { HarnessError } from '@chirality/core'
import { processEnv } from '../env/process-env.ts'
import { importCodexSession } from '../native-sessions/codex/import.ts'
import { listCodexSessions } from '../native-sessions/codex/list.ts'
import { RunningTurns } from '../turn/running-turns.ts'
import { StartsAhead } from '../turn/starts-ahead.ts'
import { turnQuery } from '../turn/turn-query.ts'
import { adoptCodexTurn } from './adopt-turn.ts'
import { AppServerPool } from './app-server-pool.ts'
import { type CodexContext, type CodexHarnessConfig, HARNESS_ID } from './config.ts'
import { codexInstallStatus } from './install-status.ts'
import { CODEX_CAPABILITIES, CODEX_META, CODEX_MODELS, EXEC_CAPABILITIES } from './models.ts'
import { unheldRules } from './permissions.ts'
import { prewarmCodex } from './prewarm.ts'
import { queryCodex } from './query.ts'
import { CodexTurn } from './turn.ts'

/** Runs Codex: by preference through its app-server, which stays between turns; else one `exec` a turn. */
export class CodexHarness implements SessionHarness<CodexEvent> {
  readonly id = HARNESS_ID
  readonly #context: CodexContext
  readonly #pool: AppServerPool
  readonly #turns = new RunningTurns(HARNESS_ID)
  readonly #ahead = new StartsAhead()
  /** The thread of each session that had a turn here. */
  readonly #threads = new Map<string, string>()

  constructor(config: CodexHarnessConfig = {}) {
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

  async *startTurn(
    session: Session,
    userMessage: string,
    opts: HarnessTurnOpts = {},
  ): AsyncGenerator<UIEvent> {
    if (opts.decide && !this.capabilities().supportsDecisions) {
      throw new HarnessError('decide: `codex exec` asks nobody.', 'unsupported', HARNESS_ID)
    }
    if (opts.guard && !this.capabilities().supportsDecisions) {
      throw new HarnessError('guard: `codex exec` asks nobody.', 'unsupported', HARNESS_ID)
    }
    const query = turnQuery(session, userMessage, opts)
    const turn = new CodexTurn({ session, query, opts, context: this.#context, pool: this.#pool })
    for await (const event of this.#turns.run(session.id, () => turn)) {
      if (event.type === 'session:init') this.#threads.set(session.id, event.claudeSessionId ?? '')
      yield event
    }
  }

  async *adoptTurn(session: Session, trace: TurnTrace, opts: AdoptTurnOpts = {}): AsyncGenerator<UIEvent> {
    yield* this.#turns.run(session.id, () => adoptCodexTurn({ session, trace, opts, context: this.#context }))
  }

  /** More input for the turn that runs; the agent takes it up at once, in the middle of what it says. */
  async steer(sessionId: string, message: string, images: PromptPart[] = []): Promise<boolean> {
    const turn = this.#turns.get(sessionId)
    if (!(turn instanceof CodexTurn)) return false
    return turn.steer(images.length > 0 ? [{ type: 'text', text: message }, ...images] : message)
  }

  /** Starts an app-server. One whose tools belong to it can only be started with the turn. */
  async prewarm(session: Session, opts: HarnessTurnOpts = {}): Promise<void> {
    if (this.#context.config.voice === 'exec') return
    const { onProcess } = opts
    const parts = { session, context: this.#context, pool: this.#pool, onProcess }
    await this.#ahead.run(session.id, signal =>
      prewarmCodex(turnQuery(session, '', opts), { ...parts, signal }),
    )
  }

  async contextUsage(sessionId: string): Promise<ContextUsage | undefined> {
    return this.#pool.homeOf(sessionId)?.contexts.get(this.#threads.get(sessionId) ?? '')
  }

  interrupt(sessionId: string): void {
    this.#ahead.giveUp(sessionId)
    this.#turns.get(sessionId)?.interrupt()
  }

  /** An app-server that other sessions use goes on for them; what it runs for this session ends. */
  async kill(sessionId: string): Promise<void> {
    this.#ahead.giveUp(sessionId)
    await this.#turns.get(sessionId)?.kill()
    await this.#pool.kill({ sessionId, threadId: this.#threads.get(sessionId) })
  }

  async release(sessionId: string): Promise<void> {
    await this.kill(sessionId)
    this.#threads.delete(sessionId)
  }

  isRunning(sessionId: string): boolean {
    return this.#turns.has(sessionId)
  }

  listNativeSessions(options: ListNativeSessionsOptions = {}): Promise<NativeSession[]> {
    return listCodexSessions(options, this.#context)
  }

  importSession(nativeSessionId: string): Promise<ImportedSession> {
    return importCodexSession(nativeSessionId, this.#context)
  }

  /** Ends the turns that run, and the app-servers that are kept between turns. */
  async close(): Promise<void> {
    await this.#turns.killAll()
    await this.#pool.close()
  }
}

/** Long enough for a person to read and think; a kept server costs memory. */
const IDLE_MS = 10 * 60_000
