import { randomUUID } from 'node:crypto'
import type {
  AdoptTurnOpts,
  HarnessCapabilities,
  HarnessEvent,
  HarnessInstallStatus,
  HarnessMeta,
  HarnessModel,
  HarnessQuery,
  HarnessTurnOpts,
  PermissionMode,
  PromptPart,
  Session,
  SessionHarness,
  SlashCommand,
  TurnTrace,
  UIEvent,
} from '@chirality/core'
import { processEnv } from '../env/process-env.ts'
import { RunningTurns } from '../turn/running-turns.ts'
import { Turn } from '../turn/turn.ts'
import { turnQuery } from '../turn/turn-query.ts'
import { adoptedPlan } from './adopted-turn.ts'
import { HARNESS_ID, type MessagesApiContext, type MessagesApiHarnessConfig } from './config.ts'
import { KEY_INSTRUCTIONS, readEndpoint } from './credentials.ts'
import { MESSAGES_API_CAPABILITIES, MESSAGES_API_META, MESSAGES_API_MODELS } from './models.ts'
import type { MessagesApiEvent } from './native-event.ts'
import { queryMessagesApi } from './query.ts'
import { SessionMemory } from './session-memory.ts'
import { LoopConnection, messagesApiPlan } from './turn.ts'

/** Runs an agent in this process, straight on the Messages API. Needs a key and nothing else. */
export class MessagesApiHarness implements SessionHarness<MessagesApiEvent> {
  readonly id = HARNESS_ID
  readonly #context: MessagesApiContext
  readonly #turns = new RunningTurns<Turn>(HARNESS_ID)
  readonly #memory = new SessionMemory()

  constructor(config: MessagesApiHarnessConfig = {}) {
    const environment = processEnv(config.environment)
    this.#context = { config, environment, busyConversations: new Set() }
  }

  meta(): HarnessMeta {
    return MESSAGES_API_META
  }

  models(): HarnessModel[] {
    return [...MESSAGES_API_MODELS]
  }

  capabilities(): HarnessCapabilities {
    return MESSAGES_API_CAPABILITIES
  }

  /** There is nothing to install. */
  async checkInstallStatus(): Promise<HarnessInstallStatus> {
    const { apiKey, authToken } = readEndpoint(this.#context.environment)
    return apiKey || authToken
      ? { installed: true, authType: 'api-key', authenticated: true }
      : { installed: true, authType: 'none', authenticated: false, authInstructions: KEY_INSTRUCTIONS }
  }

  async discoverSlashCommands(): Promise<SlashCommand[]> {
    return []
  }

  query(query: HarnessQuery): AsyncGenerator<HarnessEvent<MessagesApiEvent>> {
    return queryMessagesApi(query, this.#context)
  }

  async *startTurn(
    session: Session,
    userMessage: string,
    opts: HarnessTurnOpts = {},
  ): AsyncGenerator<UIEvent> {
    const { grants, mode } = this.#memory.of(session.id)
    const permissionMode = opts.permissionMode ?? mode
    const query = turnQuery(session, userMessage, { ...opts, ...(permissionMode ? { permissionMode } : {}) })
    const turnId = opts.turnId ?? randomUUID()
    const plan = messagesApiPlan({ session, turnId, query, opts, context: this.#context, grants })
    yield* this.#turns.run(session.id, () => new Turn({ plan, session, turnId, opts }))
  }

  /** Told from its raw log, and ended: its loop went with the program that ran it. */
  async *adoptTurn(session: Session, trace: TurnTrace, _opts?: AdoptTurnOpts): AsyncGenerator<UIEvent> {
    const plan = adoptedPlan({ session, trace, context: this.#context })
    yield* this.#turns.run(session.id, () => new Turn({ plan, session, turnId: trace.turnId }))
  }

  /** The model reads it with the next results of its tools, or when it would rest. */
  async steer(sessionId: string, message: string, images: PromptPart[] = []): Promise<boolean> {
    return (await this.#turns.get(sessionId)?.steer([{ type: 'text', text: message }, ...images])) ?? false
  }

  /** For the turn that runs, and for later ones that name no other. */
  async setPermissionMode(sessionId: string, mode: PermissionMode): Promise<void> {
    this.#memory.of(sessionId).mode = mode
    const connection = this.#turns.get(sessionId)?.connection
    if (connection instanceof LoopConnection) connection.setPermissionMode(mode)
  }

  interrupt(sessionId: string): void {
    this.#turns.get(sessionId)?.interrupt()
  }

  async kill(sessionId: string): Promise<void> {
    await this.#turns.get(sessionId)?.kill()
  }

  async release(sessionId: string): Promise<void> {
    await this.kill(sessionId)
    this.#memory.forget(sessionId)
  }

  isRunning(sessionId: string): boolean {
    return this.#turns.has(sessionId)
  }

  async close(): Promise<void> {
    await this.#turns.killAll()
    this.#memory.clear()
  }
}
