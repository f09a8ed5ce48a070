/**
 * Stands for the `type` of what this version does not know: any other word. TypeScript cannot say "any other word": a plain
 * `string` here would take every `case` of a reader's `switch` for its own, and no known variant would narrow. So it is a shape
 * that no known name has; do not compare with it.
 */
export type UnknownName = `unknown/${string}`
