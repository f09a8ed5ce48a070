import type { ClientToolDefinition, PriceTable } from '@chirality/core'
import type { AgentName, TurnConfig } from '../turn/turn-program.ts'
import { MESSAGES_API_META } from './descriptor.ts'

export const MESSAGES_API: AgentName = { harnessId: MESSAGES_API_META.id, name: MESSAGES_API_META.name }

export interface MessagesApiHarnessConfig extends TurnConfig {
  /** The source of the key, the address and the variables of commands. Default: the environment of this process. */
  environment?: Readonly<Record<string, string | undefined>>
  /** Variables that commands receive in addition to the allow-list. */
  allowEnvironment?: string[] | undefined
  /** The limit of each answer. Default: 16 384, or the maximum of an older model. */
  maxTokens?: number | undefined
  /** How often a request is retried after a temporary failure. Default 10. */
  maxRetries?: number | undefined
  /** Default true. */
  promptCaching?: boolean | undefined
  /** The host's tools for every turn, in addition to those of the turn. */
  clientTools?: ClientToolDefinition[] | undefined
  /** Replaces the built-in list prices. A function is called for each turn. */
  prices?: (PriceTable | (() => PriceTable)) | undefined
}

export interface MessagesApiContext {
  config: MessagesApiHarnessConfig
  environment: Record<string, string>
  /** Native ids of the conversations with a running turn. Two turns at once would corrupt the history. */
  busyConversations: Set<string>
}
