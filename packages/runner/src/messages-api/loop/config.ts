import type { Endpoint } from '../api/endpoint.ts'
import type { Message } from '../api/messages.ts'

/** What an agent loop is made with. The defaults of the first five are the specification's. */
export interface Config extends Endpoint {
  /** Or `authToken`; one of them is required. */
  apiKey?: string | undefined
  /** Default `claude-3-haiku-20240307`. */
  model?: string | undefined
  /** Of each answer. Default 4096. */
  maxTokens?: number | undefined
  systemPrompt?: string | undefined
  /** Requests to the model for one prompt. Default 10. */
  maxTurns?: number | undefined

  /** Used when `model` stays overloaded. */
  fallbackModel?: string | undefined
  /** How often a request that failed in passing is sent again. Default 10. */
  maxRetries?: number | undefined
  /** Default true. */
  promptCaching?: boolean | undefined
  /** How long a tool that runs when the prompt is cancelled is waited for. Default 1,000. */
  toolGraceMs?: number | undefined
  /** Further fields of the request, such as `thinking`. Not `messages`, `system`, `stream`, and with tools not `tools` and `tool_choice`. */
  extraBody?: Readonly<Record<string, unknown>> | undefined
  /** The conversation so far. */
  history?: readonly Message[] | undefined
}

export const DEFAULT_MODEL = 'claude-3-haiku-20240307'
export const DEFAULT_MAX_TOKENS = 4096
export const DEFAULT_LOOP_TURNS = 10
export const DEFAULT_MAX_RETRIES = 10
export const DEFAULT_TOOL_GRACE_MS = 1000
