import type { PersonaProblem } from '../persona.ts'

export type SplitFile =
  | { kind: 'plain' }
  /** `yaml` begins on line 2 of the file; its line breaks are all `\n`. */
  | { kind: 'frontmatter'; yaml: string; body: string }
  | { kind: 'problem'; problem: PersonaProblem }

/** Finds the block between two `---` lines at the top. What looks like one but is not is a problem: its limits would be lost. */
export function splitFrontmatter(text: string): SplitFile {
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
