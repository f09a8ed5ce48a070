export type CopiedObject =
  | { value: Record<string, unknown>; problem?: undefined }
  /** Ends the sentence "updatedInput …". */
  | { value?: undefined; problem: string }

/** A deep copy of plain JSON data, or why it is none: accessors, cycles, odd prototypes and sizes never get further. */
export function copyJsonObject(value: unknown): CopiedObject {
  const budget = { chars: MAX_CHARS }
  try {
    const copy = copyValue(value, { budget, depth: 0 })
    if (typeof copy !== 'object' || copy === null || Array.isArray(copy))
      return { problem: 'must be an object' }
    return { value: copy as Record<string, unknown> }
  } catch (error) {
    if (error instanceof NotJson) return { problem: error.message }
    return { problem: 'cannot be read' }
  }
}

class NotJson extends Error {}

interface Place {
  budget: { chars: number }
  depth: number
}

/** Edited inputs hold whole files at most. */
const MAX_CHARS = 4 * 1024 * 1024
const MAX_DEPTH = 64
const COST_OF_A_VALUE = 8

function copyValue(value: unknown, place: Place): unknown {
  spend(place, COST_OF_A_VALUE)
  switch (typeof value) {
    case 'string':
      spend(place, value.length)
      return value
    case 'boolean':
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new NotJson(`holds ${value}, which is not JSON`)
      return value
    case 'object':
      return value === null ? null : copyObject(value, place)
    default:
      throw new NotJson(`holds a ${typeof value}, which is not JSON`)
  }
}

function copyObject(value: object, { budget, depth }: Place): unknown {
  if (depth >= MAX_DEPTH) throw new NotJson('is nested too deeply')
  const inner = { budget, depth: depth + 1 }
  if (Array.isArray(value)) return Array.from(value, item => copyValue(item, inner))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null)
    throw new NotJson('holds something that is not JSON')
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    if (key === '__proto__') throw new NotJson('holds a key "__proto__"')
    spend(inner, key.length)
    const item = (value as Record<string, unknown>)[key]
    if (item !== undefined) copy[key] = copyValue(item, inner)
  }
  return copy
}

function spend({ budget }: Place, chars: number): void {
  budget.chars -= chars
  if (budget.chars < 0) throw new NotJson(`is larger than ${MAX_CHARS} characters`)
}
