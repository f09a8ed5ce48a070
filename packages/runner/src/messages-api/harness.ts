import type {
  HarnessCapabilities,
  HarnessInstallStatus,
  HarnessMeta,
  HarnessModel,
  HarnessTurnOpts,
  Session,
  SlashCommand,
  UIEvent,
} from '@chirality/core'
import { HarnessBusyError } from '@chirality/core'
import { processEnv } from '../env/process-env.ts'
import { turnQuery } from '../turn/turn-query.ts'
import { HARNESS_ID, type MessagesApiContext, type MessagesApiHarnessConfig } from './config.ts'
import { KEY_INSTRUCTIONS, readEndpoint } from './credentials.ts'
import { MESSAGES_API_CAPABILITIES, MESSAGES_API_META, MESSAGES_API_MODELS } from './models.ts'
import { MessagesApiTurn } from './turn.ts'

/** Runs an agent in this process, straight on the Messages API. Needs a key and nothing else. */
export class MessagesApiHarness {
  readonly id = HARNESS_ID
  readonly #context: MessagesApiContext
  readonly #turns = new Map<string, MessagesApiTurn>()

  constructor(config: MessagesApiHarnessConfig = {}) {
    this.#context = { config, environment: config.environment ?? processEnv() }
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

  async *startTurn(
    session: Session,
    userMessage: string,
    opts: HarnessTurnOpts = {},
  ): AsyncGenerator<UIEvent> {
    if (this.#turns.has(session.id)) throw new HarnessBusyError(HARNESS_ID, session.id)
    const query = turnQuery(session, userMessage, opts)
    const turn = new MessagesApiTurn({ session, query, opts, context: this.#context })
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
