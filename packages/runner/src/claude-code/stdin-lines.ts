import { toUSVString } from 'node:util'

/** What a user message consists of: a text, or blocks of text, images and documents. */
export type MessageContent = string | Record<string, unknown>[]

/** `uuid` comes back with the message when the agent takes it up, and is how it is taken back before that. */
export function userLine(content: MessageContent, uuid?: string): string {
  return line({ type: 'user', message: { role: 'user', content }, ...(uuid ? { uuid } : {}) })
}

export function controlRequestLine(requestId: string, request: Record<string, unknown>): string {
  return line({ type: 'control_request', request_id: requestId, request })
}

export function controlResponseLine(requestId: string, response: Record<string, unknown>): string {
  const answer = { subtype: 'success', request_id: requestId, response }
  return line({ type: 'control_response', response: answer })
}

export function controlErrorLine(requestId: string, error: string): string {
  return line({ type: 'control_response', response: { subtype: 'error', request_id: requestId, error } })
}

/**
 * A line that is no JSON ends the agent, so none is written that was not made here. Half a surrogate pair is JSON, but
 * the model's API refuses the conversation that holds it for ever; and some line readers split at U+2028.
 */
function line(value: unknown): string {
  const json = JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' ? toUSVString(part) : part,
  )
  return `${json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}\n`
}
