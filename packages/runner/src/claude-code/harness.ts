import { randomUUID } from 'node:crypto'
import type {
  AdoptTurnOpts,
  ClaudeEvent,
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
import { adoptedAttempts, startedAttempts } from '../turn/attempt-source.ts'
import { ProcessTurn } from '../turn/process-turn.ts'
import { RunningTurns } from '../turn/running-turns.ts'
import { turnQuery } from '../turn/turn-query.ts'
import { type ClaudeCodeHarnessConfig, type ClaudeContext, HARNESS_ID } from './config.ts'
import { claudeInstallStatus } from './install-status.ts'
import { CLAUDE_CAPABILITIES, CLAUDE_META, CLAUDE_MODELS, WARM_CAPABILITIES } from './models.ts'
import { queryClaude } from './query.ts'
import { type ClaudeRequest, type ClaudeResponse, runClaudeOnce } from './run-once.ts'
import { discoverClaudeCommands } from './slash-commands.ts'
import { claudeProgram } from './turn-program.ts'
import { LivePool } from './warm/live-pool.ts'
import { WarmTurn, type WarmTurnOptions } from './warm/warm-turn.ts'

/** Runs Claude Code: by default in a process that a session keeps between its turns, else in one for each turn. */
export class ClaudeCodeHarness implements SessionHarness<ClaudeEvent> {
  readonly id = HARNESS_ID
  readonly #context: ClaudeContext
  readonly #turns = new RunningTurns<ProcessTurn | WarmTurn>(HARNESS_ID)
  readonly #pool: LivePool

  constructor(config: ClaudeCodeHarnessConfig = {}) {
    this.#context = { config, environment: config.environment ?? processEnv() }
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

  discoverSlashCommands(cwd: string, signal?: AbortSignal): Promise<SlashCommand[]> {
    return discoverClaudeCommands(cwd, this.#context, signal)
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
  async *startTurn(
    session: Session,
    userMessage: string,
    opts: HarnessTurnOpts = {},
  ): AsyncGenerator<UIEvent> {
    const turnId = opts.turnId ?? randomUUID()
    const query = withDefaults(turnQuery(session, userMessage, opts))
    yield* this.#turns.run(session.id, this.#turn({ session, turnId, query, opts }))
  }

  /** All that the turn printed, and what it still prints, as the events that `startTurn` gave. */
  async *adoptTurn(session: Session, trace: TurnTrace, opts: AdoptTurnOpts = {}): AsyncGenerator<UIEvent> {
    const program = claudeProgram(this.#context)
    const source = adoptedAttempts(trace, opts.signal)
    const turn = new ProcessTurn({ program, session, turnId: trace.turnId, opts, source })
    yield* this.#turns.run(session.id, turn)
  }

  /** Like Ctrl-C. If the agent does not heed it, it is ended all the same. */
  interrupt(sessionId: string): void {
    this.#turns.get(sessionId)?.interrupt()
  }

  /** SIGTERM, and SIGKILL after 5 s, for the agent and all that it started. */
  kill(sessionId: string): void {
    void this.#turns.get(sessionId)?.kill()
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

  get #isWarm(): boolean {
    return this.#context.config.keepAlive !== false
  }

  #turn(
    turn: Pick<WarmTurnOptions, 'session' | 'turnId' | 'query'> & { opts: HarnessTurnOpts },
  ): WarmTurn | ProcessTurn {
    if (this.#isWarm) return new WarmTurn({ ...turn, context: this.#context, pool: this.#pool })
    refuseUnsupported(turn.opts)
    const program = claudeProgram(this.#context)
    return new ProcessTurn({ ...turn, program, source: startedAttempts(turn.query, program) })
  }
}

/** A process that is gone after its turn can ask nobody. */
function refuseUnsupported({ decide }: HarnessTurnOpts): void {
  if (decide)
    throw new HarnessError('decide: Claude Code asks nobody in this form.', 'unsupported', HARNESS_ID)
}

/** The specification's defaults for a turn: all tools, and 25 rounds. */
function withDefaults(query: HarnessQuery): HarnessQuery {
  return { ...query, tools: query.tools ?? 'default', maxTurns: query.maxTurns ?? DEFAULT_MAX_TURNS }
}
