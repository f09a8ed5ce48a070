// An agent's output is checked field by field: each reader returns the value only if it has the right type.

export type JsonObject = Record<string, unknown>

export function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** An empty string counts as missing. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

export function asBoolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

export function asObject(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined
}

export function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

export function asStrings(value: unknown): string[] {
  return asArray(value).filter(item => typeof item === 'string')
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The `type` of an event that this version does not know: any other string. TypeScript cannot express that: with a
 * plain `string` no known variant would narrow in a reader's `switch`. So it is a shape that no known name has; do not
 * compare with it.
 */
export type UnknownName = `unknown/${string}`
