import type { Endpoint } from '../api/endpoint.ts'
import type { Message } from '../api/messages.ts'

/** The options of an agent loop. The specification sets the defaults of the first five. */
export interface Config extends Endpoint {
  /** Either `apiKey` or `authToken` is required. */
  apiKey?: string | undefined
  /** Default `claude-3-haiku-20240307`. */
  model?: string | undefined
  /** The limit of each answer. Default 4096. */
  maxTokens?: number | undefined
  systemPrompt?: string | undefined
  /** The limit of requests for one prompt. Default 10. */
  maxTurns?: number | undefined

  /** Used when `model` stays overloaded. */
  fallbackModel?: string | undefined
  /** How often a request is retried after a temporary failure. Default 10. */
  maxRetries?: number | undefined
  /** Default true. */
  promptCaching?: boolean | undefined
  /** How long to wait for a running tool after a cancel. Default 1,000. */
  toolGraceMs?: number | undefined
  /**
   * Additional fields of the request, such as `thinking`. Not `messages`, `system`, `stream`, nor, with tools, `tools`
   * and `tool_choice`.
   */
  extraBody?: Readonly<Record<string, unknown>> | undefined
  history?: readonly Message[] | undefined
}

export const DEFAULT_MODEL = 'claude-3-haiku-20240307'
export const DEFAULT_MAX_TOKENS = 4096
export const DEFAULT_LOOP_TURNS = 10
export const DEFAULT_MAX_RETRIES = 10
export const DEFAULT_TOOL_GRACE_MS = 1000
