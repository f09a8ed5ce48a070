import { readFile } from 'node:fs/promises'
import { type Document, isMap, isNode, LineCounter, parseDocument } from 'yaml'
import type { z } from 'zod'
import { type Script, scriptSchema } from './script.ts'

/** Reads a script from YAML or JSON text. Throws a `ScriptError` that names line and column. */
export function parseScript(text: string, fileName = 'script'): Script {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false })
  const [syntaxError] = document.errors
  if (syntaxError) {
    const problem = { path: '', message: syntaxError.message, ...position(lineCounter, syntaxError.pos[0]) }
    throw new ScriptError(fileName, [problem])
  }
  const result = scriptSchema.safeParse(document.toJS())
  if (result.success) return result.data
  throw new ScriptError(
    fileName,
    result.error.issues.map(issue => ({
      ...problemOf(issue),
      ...position(lineCounter, offsetOf(document, issue)),
    })),
  )
}

export async function loadScript(file: string): Promise<Script> {
  return parseScript(await readFile(file, 'utf8'), file)
}

/** Checks a script that was built in code. Throws a `ScriptError` that names the path. */
export function checkScript(script: unknown, name = 'script'): Script {
  const result = scriptSchema.safeParse(script)
  if (result.success) return result.data
  throw new ScriptError(name, result.error.issues.map(problemOf))
}

export interface ScriptProblem {
  /** `answers[2].blocks[0].tool`, empty for the whole script. */
  path: string
  message: string
  line?: number
  column?: number
}

export class ScriptError extends Error {
  readonly source: string
  readonly problems: readonly ScriptProblem[]

  constructor(source: string, problems: readonly ScriptProblem[]) {
    super(problems.map(problem => describe(source, problem)).join('\n'))
    this.name = 'ScriptError'
    this.source = source
    this.problems = problems
  }
}

function describe(source: string, { path, message, line, column }: ScriptProblem): string {
  const place = line === undefined ? source : `${source}:${line}:${column}`
  return path ? `${place} ${path}: ${message}` : `${place}: ${message}`
}

function problemOf(issue: z.core.$ZodIssue): ScriptProblem {
  return {
    path: formatPath(keyPath(issue)),
    message: issue.message
      .replace(/^Invalid (input|option|value): /, '')
      .replace(/^expected record,/, 'expected object,')
      .replace(/^expected (\w+), received undefined$/, 'missing; expected $1'),
  }
}

/** Points at the unknown key itself, not at the object around it. */
function keyPath(issue: z.core.$ZodIssue): PropertyKey[] {
  return issue.code === 'unrecognized_keys' ? [...issue.path, ...issue.keys.slice(0, 1)] : issue.path
}

function formatPath(path: PropertyKey[]): string {
  return path
    .map(part => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '')
}

function position(lineCounter: LineCounter, offset: number): { line: number; column: number } {
  const { line, col } = lineCounter.linePos(offset)
  return { line, column: col }
}

/** The nearest place in the text: a missing key has none of its own, so its parent's is used. */
function offsetOf(document: Document.Parsed, issue: z.core.$ZodIssue): number {
  const path = keyPath(issue)
  for (let depth = path.length; depth >= 0; depth--) {
    const parent = nodeAt(document, path.slice(0, depth - 1))
    const pair = isMap(parent) && parent.items.find(item => String(item.key) === path[depth - 1])
    if (depth === path.length && pair && isNode(pair.key) && pair.key.range) return pair.key.range[0]
    const node = nodeAt(document, path.slice(0, depth))
    if (isNode(node) && node.range) return node.range[0]
  }
  return 0
}

function nodeAt(document: Document.Parsed, path: PropertyKey[]): unknown {
  return path.length === 0 ? document.contents : document.getIn(path, true)
}
