import { stat } from 'node:fs/promises'
import path from 'node:path'
import { setImmediate as nextLoopTurn } from 'node:timers/promises'
import { createContext, Script } from 'node:vm'
import { type BuiltInTool, numberOf, objectSchema, ToolError, textOf } from '../built-in-tool.ts'
import { globMatcher } from './glob-pattern.ts'
import { PinnedDirectory } from './pinned-directory.ts'
import { walk, walkLimits } from './walk.ts'
import type { Workspace } from './workspace.ts'

export function grepTool(workspace: Workspace): BuiltInTool {
  return {
    name: 'grep',
    effect: 'read',
    description:
      'Searches the lines of text files by a JavaScript regular expression. Leaves out .git, node_modules and files over 2 MB.',
    inputSchema: objectSchema(
      {
        pattern: { type: 'string', minLength: 1 },
        path: { type: 'string', description: 'A file or folder; default the project folder' },
        glob: { type: 'string', description: 'Only files that fit, such as *.ts or src/**' },
        ignore_case: { type: 'boolean' },
        output_mode: { enum: ['content', 'files_with_matches'], description: 'Default content' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_LIMIT,
          description: `Lines or files; default ${DEFAULT_LIMIT}`,
        },
      },
      ['pattern'],
    ),
    subject: input => textOf(input.path) ?? '.',
    async execute(input, { signal }) {
      const search = new Search(input)
      const place = await workspace.locate(textOf(input.path) ?? '.')
      const info = await stat(place.real).catch(() => null)
      if (info === null || workspace.isHidden(place.shown))
        throw new ToolError(`${place.shown} does not exist.`)
      if (!info.isDirectory()) {
        await searchFile(workspace, place.real, search)
        return search.result(false)
      }
      const limits = walkLimits()
      for await (const { directory, prefix, entries } of walk(place.real, { signal, limits })) {
        for (const entry of entries) {
          if (!entry.isFile() || search.isOver || !search.wants(prefix + entry.name)) continue
          const shown = workspace.show(`${place.real}/${prefix}${entry.name}`)
          if (workspace.isHidden(shown)) continue
          await search.file(directory, entry.name, shown)
          signal.throwIfAborted()
        }
        if (search.isOver) break
      }
      return search.result(limits.isReached)
    },
  }
}

const DEFAULT_LIMIT = 200
const MAX_LIMIT = 2000
const MAX_SHOWN_CHARS = 300
const MAX_SEARCHED_BYTES = 2 * 1024 * 1024
/** A pattern that is too slow for this many files is given up. */
const MAX_SLOW_FILES = 5

async function searchFile(workspace: Workspace, real: string, search: Search): Promise<void> {
  const directory = await PinnedDirectory.open(path.dirname(real))
  try {
    await search.file(directory, path.basename(real), workspace.show(real), true)
  } finally {
    await directory.close()
  }
}

class Search {
  readonly #regex: TimedRegex
  readonly #wants: ((file: string) => boolean) | undefined
  readonly #limit: number
  readonly #onlyNames: boolean
  readonly #lines: string[] = []
  readonly #slow: string[] = []
  #skipped = 0

  constructor(input: Record<string, unknown>) {
    this.#regex = new TimedRegex(String(input.pattern), input.ignore_case === true ? 'i' : '')
    const glob = textOf(input.glob)
    if (glob !== undefined) this.#wants = globMatcher(glob.includes('/') ? glob : `**/${glob}`)
    this.#limit = numberOf(input.limit) ?? DEFAULT_LIMIT
    this.#onlyNames = input.output_mode === 'files_with_matches'
  }

  get isOver(): boolean {
    return this.#lines.length >= this.#limit || this.#slow.length >= MAX_SLOW_FILES
  }

  wants(file: string): boolean {
    return this.#wants?.(file) ?? true
  }

  /** An unreadable file is skipped, unless it was requested by name. */
  async file(
    directory: PinnedDirectory,
    name: string,
    ...[shown, isNamed = false]: [string, boolean?]
  ): Promise<void> {
    try {
      const file = await directory.openFile(name)
      try {
        const { size } = await file.stat()
        if (size > MAX_SEARCHED_BYTES) {
          if (isNamed) throw new ToolError(`${shown} is over ${MAX_SEARCHED_BYTES} bytes.`)
          this.#skipped += 1
          return
        }
        this.#text(await file.readFile(), shown)
      } finally {
        await file.close()
      }
    } catch (error) {
      if (isNamed) throw error
      this.#skipped += 1
    }
    await nextLoopTurn()
  }

  result(isCut: boolean): { content: string; detail: Record<string, unknown> } {
    const notes = [
      ...(this.#lines.length >= this.#limit || isCut ? ['[There may be more. Narrow the search.]'] : []),
      ...(this.#slow.length > 0
        ? [`[The pattern was too slow for ${this.#slow.join(', ')}. Use a simpler one.]`]
        : []),
      ...(this.#skipped > 0 ? [`[${this.#skipped} files were too big or could not be read.]`] : []),
    ]
    const found = this.#lines.length > 0 ? this.#lines : ['Nothing fits.']
    return { content: [...found, ...notes].join('\n'), detail: { numMatches: this.#lines.length } }
  }

  #text(bytes: Buffer, shown: string): void {
    if (bytes.includes(0)) return
    const lines = bytes.toString().split('\n')
    const wanted = this.#onlyNames ? 1 : this.#limit - this.#lines.length
    const found = this.#regex.matchingLines(lines, wanted)
    if (found === null) this.#slow.push(shown)
    else if (this.#onlyNames) this.#lines.push(...found.map(() => shown))
    else this.#lines.push(...found.map(index => `${shown}:${index + 1}:${oneLine(lines[index] ?? '')}`))
  }
}

function oneLine(line: string): string {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)} [cut]` : text
}

/** A regular expression with a time limit: some patterns take exponential time. */
export class TimedRegex {
  readonly #regex: RegExp
  readonly #context = createContext({})

  constructor(pattern: string, flags: string) {
    if (pattern.length > MAX_PATTERN_CHARS) throw new ToolError('The pattern is too long.')
    try {
      this.#regex = new RegExp(pattern, flags)
    } catch (error) {
      throw new ToolError(
        `The pattern is not a valid regular expression: ${error instanceof Error ? error.message : String(error)}`,
      )
    }
  }

  /** The numbers of the matching lines, or null when the pattern took too long. */
  matchingLines(lines: readonly string[], limit: number): number[] | null {
    const found: number[] = []
    const search = () => {
      for (let index = 0; index < lines.length && found.length < limit; index += 1) {
        if (this.#regex.test(lines[index] ?? '')) found.push(index)
      }
    }
    Object.assign(this.#context, { search })
    try {
      // The engine checks this limit during a match.
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
/** The search blocks the event loop. */
const MAX_SEARCH_MS = 100

/** The error comes from another context, so `instanceof Error` does not recognise it. */
function isTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}
