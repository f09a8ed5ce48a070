import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'

/** Converts the value that a handler returned to an MCP result. The value is checked: its type is only a promise. */
export function toToolResult(value: unknown, toolName: string, maxBytes: number): CallToolResult {
  if (value !== undefined && typeof value !== 'object') {
    return failure(
      `${toolName} returned something of type ${typeof value} instead of { content } or { error }.`,
      maxBytes,
    )
  }
  const { content, error } = (value ?? {}) as Record<string, unknown>
  const texts = [error, content].filter(part => part !== undefined && part !== null)
  const wrong = texts.find(part => typeof part !== 'string')
  if (wrong !== undefined) {
    return failure(
      `${toolName} returned something of type ${typeof wrong} where text was expected.`,
      maxBytes,
    )
  }
  if (texts.length === 0) texts.push(`${toolName} returned nothing.`)
  return {
    content: texts.map(text => ({ type: 'text', text: fit(String(text), maxBytes) })),
    ...(error !== undefined && error !== null && { isError: true }),
  }
}

export function failure(message: string, maxBytes: number): CallToolResult {
  return { content: [{ type: 'text', text: fit(message, maxBytes) }], isError: true }
}

/**
 * Valid Unicode within the limit. A lone surrogate would make Codex reject the whole answer. Only the part that is kept
 * is encoded, so a result of any size costs no more than the limit.
 */
function fit(text: string, maxBytes: number): string {
  // A character has at least one byte, so nothing beyond this can fit.
  const start = Buffer.from(text.slice(0, maxBytes))
  if (text.length <= maxBytes && start.length <= maxBytes) return start.toString()
  const kept = start.subarray(0, endOfCharacter(start, maxBytes)).toString()
  return `${kept}\n[The rest was cut: only the first ${kept.length} of ${text.length} characters fit.]`
}

/** The last position up to `limit` that does not split a character. */
function endOfCharacter(bytes: Buffer, limit: number): number {
  let end = Math.min(limit, bytes.length)
  while (end > 0 && ((bytes[end] ?? 0) & CONTINUATION_MASK) === CONTINUATION) end -= 1
  return end
}

const CONTINUATION_MASK = 0b1100_0000
const CONTINUATION = 0b1000_0000
