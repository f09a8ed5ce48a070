import { createContext, Script } from 'node:vm'
import { ToolError } from '../tool-error.ts'

/** A regular expression that cannot hang: some patterns take longer than the universe has left. */
export class TimedRegex {
  readonly #regex: RegExp
  readonly #context = createContext({})

  constructor(pattern: string, flags: string) {
    if (pattern.length > MAX_PATTERN_CHARS) throw new ToolError('The pattern is too long.')
    try {
      this.#regex = new RegExp(pattern, flags)
    } catch (error) {
      throw new ToolError(
        `The pattern is no regular expression: ${error instanceof Error ? error.message : String(error)}`,
      )
    }
  }

  /** The numbers of the lines that fit, or null when the pattern took too long. */
  matchingLines(lines: readonly string[], limit: number): number[] | null {
    const found: number[] = []
    const search = () => {
      for (let index = 0; index < lines.length && found.length < limit; index += 1) {
        if (this.#regex.test(lines[index] ?? '')) found.push(index)
      }
    }
    Object.assign(this.#context, { search })
    try {
      // The engine checks the time limit also inside a match.
      SEARCH.runInContext(this.#context, { timeout: MAX_SEARCH_MS })
      return found
    } catch (error) {
      if (isTimeout(error)) return null
      throw error
    }
  }
}

const SEARCH = new Script('search()')
const MAX_PATTERN_CHARS = 1000
/** The event loop waits for it. */
const MAX_SEARCH_MS = 100

/** It comes from the context, whose `Error` is another one. */
function isTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}
