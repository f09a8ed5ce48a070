import type {
  HarnessCapabilities,
  HarnessEvent,
  HarnessInstallStatus,
  HarnessMeta,
  HarnessModel,
  HarnessQuery,
  PermissionMode,
  Session,
  SlashCommand,
  TurnTrace,
} from '@chirality/core'
import { processEnv } from '../process/system/process-env.ts'
import type { TurnPlan } from '../turn/connection.ts'
import { type NewTurn, TurnHarness } from '../turn/turn-harness.ts'
import { turnQuery } from '../turn/turn-query.ts'
import type { MessagesApiContext, MessagesApiHarnessConfig } from './config.ts'
import { KEY_INSTRUCTIONS, readEndpoint } from './credentials.ts'
import {
  HARNESS_ID,
  MESSAGES_API_CAPABILITIES,
  MESSAGES_API_META,
  MESSAGES_API_MODELS,
} from './descriptor.ts'
import type { MessagesApiEvent } from './log/native-event.ts'
import { SessionMemory } from './permissions/policy.ts'
import { queryMessagesApi } from './query.ts'
import { adoptedPlan } from './turn/adopted-turn.ts'
import { LoopConnection, messagesApiPlan } from './turn/turn.ts'

/** Runs an agent in this process, straight on the Messages API. Needs a key and nothing else. */
export class MessagesApiHarness extends TurnHarness<MessagesApiEvent> {
  readonly id = HARNESS_ID
  readonly #context: MessagesApiContext
  readonly #memory = new SessionMemory()

  constructor(config: MessagesApiHarnessConfig = {}) {
    super()
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

  protected override plan({ session, turnId, message, opts }: NewTurn): TurnPlan {
    const { grants, mode } = this.#memory.of(session.id)
    const permissionMode = opts.permissionMode ?? mode
    const query = turnQuery(session, message, { ...opts, ...(permissionMode ? { permissionMode } : {}) })
    return messagesApiPlan({ session, turnId, query, opts, context: this.#context, grants })
  }

  /** Told from its raw log, and ended: its loop went with the program that ran it. */
  protected override planAdopted(session: Session, trace: TurnTrace): TurnPlan {
    return adoptedPlan({ session, trace, context: this.#context })
  }

  /** For the turn that runs, and for later ones that name no other. */
  async setPermissionMode(sessionId: string, mode: PermissionMode): Promise<void> {
    this.#memory.of(sessionId).mode = mode
    const connection = this.connectionOf(sessionId)
    if (connection instanceof LoopConnection) connection.setPermissionMode(mode)
  }

  protected override async releaseKept(sessionId: string): Promise<void> {
    this.#memory.forget(sessionId)
  }

  protected override async closeKept(): Promise<void> {
    this.#memory.clear()
  }
}
