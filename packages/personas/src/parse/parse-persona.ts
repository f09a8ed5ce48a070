import { isMap, isScalar, LineCounter, type Node, parseDocument, type YAMLError } from 'yaml'
import type { PersonaProblem } from '../persona.ts'
import { FIELDS, type PersonaSettings } from './fields.ts'
import { nearest } from './policy-rule.ts'

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

/** The problem of a key that a persona does not have. */
function unknownKey(name: string): string {
  const shown = name.length > 60 ? `${name.slice(0, 60)}…` : name
  return `${JSON.stringify(shown)} is not a key of a persona.${hint(name)}`
}

function hint(name: string): string {
  // The nearest by spelling would be its very opposite, disallowed_tools.
  if (/^allowed[-_]?tools?$/i.test(name))
    return ' Use tools for what exists, auto_approve_tools for what runs without asking.'
  const keys = Object.keys(FIELDS)
  return nearest(name, keys) || ` The keys are ${keys.join(', ')}.`
}

type SplitFile =
  | { kind: 'plain' }
  /** `yaml` begins on line 2 of the file; its line breaks are all `\n`. */
  | { kind: 'frontmatter'; yaml: string; body: string }
  | { kind: 'problem'; problem: PersonaProblem }

/** Finds the block between two `---` lines at the top. What looks like one but is not is a problem: its limits would be lost. */
function splitFrontmatter(text: string): SplitFile {
  const lines = text.split(LINE_BREAK)
  const first = lines.findIndex(line => line.trim() !== '')
  if (lines[first]?.trim() !== FENCE) return { kind: 'plain' }
  if (first > 0 || !isFence(lines[0])) {
    return problem(first + 1, 'frontmatter must begin on line 1, with "---" and nothing before it.')
  }
  const end = lines.findIndex((line, index) => index > 0 && isFence(line))
  if (end === -1) {
    return problem(1, 'the frontmatter is not closed. Add a line with just "---" below its last key.')
  }
  const yaml = lines.slice(1, end).join('\n')
  if (yaml.length > MAX_FRONTMATTER_CHARS) {
    return problem(
      1,
      `the frontmatter is longer than ${MAX_FRONTMATTER_CHARS} characters. Move text below it.`,
    )
  }
  if (isDeep(yaml))
    return problem(1, 'the frontmatter is nested too deeply. Keys, values and lists are enough.')
  return { kind: 'frontmatter', yaml, body: lines.slice(end + 1).join('\n') }
}

const FENCE = '---'
const LINE_BREAK = /\r\n|\r|\n/
/** Bounds how long the YAML parser can be kept busy. */
const MAX_FRONTMATTER_CHARS = 4 * 1024

function isFence(line: string | undefined): boolean {
  return line?.trimEnd() === FENCE
}

/** The parser recurses: a few thousand brackets would take it most of a second to give up. */
function isDeep(yaml: string): boolean {
  return (yaml.match(/[[{]/g)?.length ?? 0) > MAX_BRACKETS || DEEP_BLOCK.test(yaml)
}

const MAX_BRACKETS = 64
const DEEP_BLOCK = /^[ \t]*(?:[-?:][ \t]+){4}/m

function problem(line: number, message: string): SplitFile {
  return { kind: 'problem', problem: { line, message } }
}
