import type {
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
  UIEvent,
} from '@chirality/core'
import { HarnessBusyError } from '@chirality/core'
import { processEnv } from '../env/process-env.ts'
import { turnQuery } from '../turn/turn-query.ts'
import { HARNESS_ID, type MessagesApiContext, type MessagesApiHarnessConfig } from './config.ts'
import { KEY_INSTRUCTIONS, readEndpoint } from './credentials.ts'
import { MESSAGES_API_CAPABILITIES, MESSAGES_API_META, MESSAGES_API_MODELS } from './models.ts'
import type { MessagesApiEvent } from './native-event.ts'
import { Grants } from './permissions/grants.ts'
import { queryMessagesApi } from './query.ts'
import { MessagesApiTurn } from './turn.ts'

/** Runs an agent in this process, straight on the Messages API. Needs a key and nothing else. */
export class MessagesApiHarness implements SessionHarness<MessagesApiEvent> {
  readonly id = HARNESS_ID
  readonly #context: MessagesApiContext
  readonly #turns = new Map<string, MessagesApiTurn>()
  /** By session, for as long as the harness lives. */
  readonly #grants = new Map<string, Grants>()
  readonly #modes = new Map<string, PermissionMode>()

  constructor(config: MessagesApiHarnessConfig = {}) {
    const environment = config.environment ?? processEnv()
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
    if (this.#turns.has(session.id)) throw new HarnessBusyError(HARNESS_ID, session.id)
    const permissionMode = opts.permissionMode ?? this.#modes.get(session.id)
    const query = turnQuery(session, userMessage, { ...opts, ...(permissionMode ? { permissionMode } : {}) })
    const grants = this.#grants.get(session.id) ?? new Grants()
    this.#grants.set(session.id, grants)
    const turn = new MessagesApiTurn({ session, query, opts, context: this.#context, grants })
    this.#turns.set(session.id, turn)
    const settle = () => {
      if (this.#turns.get(session.id) === turn) this.#turns.delete(session.id)
    }
    try {
      for await (const event of turn.events()) {
        if (event.type === 'turn:end') settle()
        yield event
      }
    } finally {
      settle()
    }
  }

  /** The model reads it with the next results of its tools, or when it would rest. */
  async steer(sessionId: string, message: string, images?: PromptPart[]): Promise<boolean> {
    return (await this.#turns.get(sessionId)?.steer(message, images)) ?? false
  }

  /** For the turn that runs, and for later ones that name no other. */
  async setPermissionMode(sessionId: string, mode: PermissionMode): Promise<void> {
    this.#modes.set(sessionId, mode)
    this.#turns.get(sessionId)?.setPermissionMode(mode)
  }

  interrupt(sessionId: string): void {
    this.#turns.get(sessionId)?.interrupt()
  }

  kill(sessionId: string): void {
    void this.#turns.get(sessionId)?.kill()
  }

  isRunning(sessionId: string): boolean {
    return this.#turns.has(sessionId)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#turns.values()].map(turn => turn.kill()))
  }
}
