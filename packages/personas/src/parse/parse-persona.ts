import { isMap, isScalar, LineCounter, type Node, parseDocument, type YAMLError } from 'yaml'
import type { PersonaProblem } from '../persona.ts'
import { FIELDS, type PersonaSettings } from './fields.ts'
import { splitFrontmatter } from './split-frontmatter.ts'
import { unknownKey } from './unknown-key.ts'

/** With problems the settings are not to be used: a limit that was meant may be missing from them. */
export interface ParsedPersona {
  settings: PersonaSettings
  problems: PersonaProblem[]
  warnings: PersonaProblem[]
}

/** Reads the frontmatter of a persona's file. Lines are those of the file. */
export function parsePersona(text: string): ParsedPersona {
  const parsed: ParsedPersona = { settings: {}, problems: [], warnings: [] }
  const split = splitFrontmatter(text)
  if (split.kind === 'problem') {
    parsed.problems.push(split.problem)
  } else if (split.kind === 'frontmatter') {
    parseSettings(split.yaml, parsed)
    if (split.body.trim() === '')
      parsed.warnings.push({ message: 'there are no instructions below the frontmatter.' })
  } else if (text.trim() === '') {
    parsed.problems.push({ message: 'is empty. Write the instructions of the persona into it.' })
  }
  parsed.problems = parsed.problems.sort(byLine).slice(0, MAX_PROBLEMS)
  parsed.warnings.sort(byLine)
  return parsed
}

/** Nobody reads more, and a hostile file can have thousands. */
const MAX_PROBLEMS = 20
/** The `---` above it. */
const LINES_BEFORE_YAML = 1

function parseSettings(yaml: string, parsed: ParsedPersona): void {
  const lineCounter = new LineCounter()
  const lineAt = (offset: number) => (lineCounter.linePos(offset).line || 1) + LINES_BEFORE_YAML
  const document = parseDocument(yaml, {
    lineCounter,
    prettyErrors: false,
    stringKeys: true,
    resolveKnownTags: false,
    // Not lower: a second document would be dropped without a word.
    logLevel: 'error',
  })
  for (const error of [...document.errors, ...document.warnings])
    parsed.problems.push({ line: lineAt(error.pos[0]), message: yamlProblem(error) })
  const { contents } = document
  if (parsed.problems.length > 0 || contents === null) return
  if (!isMap(contents)) {
    const message = 'the frontmatter must be "key: value" lines.'
    parsed.problems.push({ line: lineAt(contents.range[0]), message })
    return
  }
  for (const { key, value } of contents.items) {
    const line = lineAt(startOf(key) ?? 0)
    readField({ key, node: value, line, lineAt }, parsed)
  }
}

interface FieldPlace {
  key: unknown
  node: unknown
  line: number
  lineAt: (offset: number) => number
}

function readField({ key, node, line, lineAt }: FieldPlace, parsed: ParsedPersona): void {
  const name = isScalar(key) ? String(key.value) : ''
  const read = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined
  if (!read) {
    parsed.problems.push({ line, message: unknownKey(name) })
    return
  }
  const lineOf = (at: unknown) => {
    const offset = startOf(at)
    return offset === undefined ? line : lineAt(offset)
  }
  const say = (list: PersonaProblem[]) => (message: string, at?: unknown) => {
    list.push({ line: lineOf(at), message })
  }
  const value = { key: name, node, lineOf, problem: say(parsed.problems), warning: say(parsed.warnings) }
  Object.assign(parsed.settings, read(value))
}

function yamlProblem({ code, message }: YAMLError): string {
  switch (code) {
    case 'DUPLICATE_KEY':
      return 'this key stands here a second time. Keep one.'
    case 'MULTIPLE_DOCS':
      return 'the frontmatter must not hold a "..." line.'
    default:
      return `not valid YAML: ${message}`
  }
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0]
}

function byLine(left: PersonaProblem, right: PersonaProblem): number {
  return (left.line ?? 0) - (right.line ?? 0)
}
