// What an agent prints is only believed field by field: each reader gives the value if it has the right type.

export type JsonObject = Record<string, unknown>

export function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** An empty string says as little as a missing one. */
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
 * Stands for the `type` of what this version does not know: any other word. TypeScript cannot say "any other word": a plain
 * `string` here would take every `case` of a reader's `switch` for its own, and no known variant would narrow. So it is a shape
 * that no known name has; do not compare with it.
 */
export type UnknownName = `unknown/${string}`
