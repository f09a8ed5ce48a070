import type { ClientToolDefinition, PriceTable } from '@chirality/core'
import type { AgentName, TurnConfig } from '../turn/turn-program.ts'
import { MESSAGES_API_META } from './descriptor.ts'

export const MESSAGES_API: AgentName = { harnessId: MESSAGES_API_META.id, name: MESSAGES_API_META.name }

export interface MessagesApiHarnessConfig extends TurnConfig {
  /** Where the key, the address and what commands may see come from. Default: the environment of this process. */
  environment?: Readonly<Record<string, string | undefined>>
  /** Names that commands see beside the allow-list. */
  allowEnvironment?: string[]
  /** Of each answer. Default: 16 384, or what an older model can. */
  maxTokens?: number
  /** How often a request that failed in passing is sent again. Default 10. */
  maxRetries?: number
  /** Default true. */
  promptCaching?: boolean
  /** Tools of the app that every turn has, beside those of the turn itself. */
  clientTools?: ClientToolDefinition[]
  /** Instead of the list prices that are known; a function is asked for each turn. */
  prices?: PriceTable | (() => PriceTable)
}

/** What every way of running the agent needs to know. */
export interface MessagesApiContext {
  config: MessagesApiHarnessConfig
  environment: Record<string, string>
  /** Native ids of the conversations that have a turn running. Two at once would tear the history apart. */
  busyConversations: Set<string>
}
