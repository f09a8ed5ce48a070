import type {
  CodexEvent,
  HarnessCapabilities,
  HarnessEvent,
  HarnessInstallStatus,
  HarnessMeta,
  HarnessModel,
  HarnessQuery,
  HarnessTurnOpts,
  Session,
  SessionHarness,
  SlashCommand,
  UIEvent,
} from '@chirality/core'
import { HarnessBusyError, HarnessError } from '@chirality/core'
import { processEnv } from '../env/process-env.ts'
import { AppServerPool } from './app-server-pool.ts'
import { type CodexContext, type CodexHarnessConfig, HARNESS_ID } from './config.ts'
import { codexInstallStatus } from './install-status.ts'
import { CODEX_CAPABILITIES, CODEX_META, CODEX_MODELS } from './models.ts'
import { CodexTurn } from './turn.ts'

/** Runs Codex: by preference through its app-server, which stays between turns; else one `exec` a turn. */
export class CodexHarness implements SessionHarness<CodexEvent> {
  readonly id = HARNESS_ID
  readonly #context: CodexContext
  readonly #pool: AppServerPool
  readonly #turns = new Map<string, CodexTurn>()

  constructor(config: CodexHarnessConfig = {}) {
    this.#context = { config, environment: config.environment ?? processEnv() }
    this.#pool = new AppServerPool(config.idleMs ?? IDLE_MS)
  }

  meta(): HarnessMeta {
    return CODEX_META
  }

  models(): HarnessModel[] {
    return [...CODEX_MODELS]
  }

  capabilities(): HarnessCapabilities {
    return CODEX_CAPABILITIES
  }

  checkInstallStatus(): Promise<HarnessInstallStatus> {
    const { config, environment } = this.#context
    return codexInstallStatus({ binaryPath: config.binaryPath, environment })
  }

  /** Codex has skills, but nothing that is typed after a slash in a prompt. */
  async discoverSlashCommands(): Promise<SlashCommand[]> {
    return []
  }

  async *query(_query: HarnessQuery): AsyncGenerator<HarnessEvent<CodexEvent>> {
    throw new HarnessError('not yet', 'unsupported', HARNESS_ID)
  }

  async *startTurn(
    session: Session,
    userMessage: string,
    opts: HarnessTurnOpts = {},
  ): AsyncGenerator<UIEvent> {
    if (this.#turns.has(session.id)) throw new HarnessBusyError(HARNESS_ID, session.id)
    const turn = new CodexTurn({
      session,
      message: userMessage,
      opts,
      context: this.#context,
      pool: this.#pool,
    })
    this.#turns.set(session.id, turn)
    try {
      yield* turn.events()
    } finally {
      this.#turns.delete(session.id)
    }
  }

  interrupt(sessionId: string): void {
    this.#turns.get(sessionId)?.interrupt()
  }

  kill(sessionId: string): void {
    this.#turns.get(sessionId)?.kill()
  }

  isRunning(sessionId: string): boolean {
    return this.#turns.has(sessionId)
  }

  /** Ends the app-servers that are kept between turns. */
  close(): Promise<void> {
    return this.#pool.close()
  }
}

/** Long enough for a person to read and think; a kept server costs memory. */
const IDLE_MS = 10 * 60_000
