import path from 'node:path'

/**
 * Counts the assertions of a test file. One that holds for any code counts as none: `t.pass()`, `expect(true).toBe(true)`,
 * `assert(1)`, `assert_eq!(2, 2)`. Null if the language is not known.
 */
export function countAssertions(file: string, text: string): number | null {
  const language = languageOf(file)
  if (language === undefined) return null
  const code = withoutComments(text, language)
  return [...code.matchAll(CALLS[language])].filter(found => !isEmpty(code, found, language)).length
}

/** Counts the tests of a file that are expected to fail. Some reports count them as passed. */
export function countFailingByDesign(file: string, text: string): number {
  if (languageOf(file) !== 'js') return 0
  return [
    ...withoutComments(text, 'js').matchAll(/\b(?:test|it)(?:\.\w+)*\.(?:fails|failing)\b(?:\.\w+)*\s*[(`]/g),
  ].length
}

type Language = 'js' | 'python' | 'go' | 'rust' | 'java'

function languageOf(file: string): Language | undefined {
  return LANGUAGES.get(path.extname(file).toLowerCase())
}

const LANGUAGES = new Map<string, Language>([
  ...['.js', '.mjs', '.cjs', '.jsx', '.ts', '.mts', '.cts', '.tsx', '.vue', '.svelte'].map(
    ending => [ending, 'js'] as const,
  ),
  ['.py', 'python'],
  ['.go', 'go'],
  ['.rs', 'rust'],
  ['.java', 'java'],
  ['.kt', 'java'],
])

/** Begin of an assertion, up to its first argument. */
const CALLS: Record<Language, RegExp> = {
  js: /\bexpect(?:\.(?:soft|poll))?\s*\(|\bassert(?:\.\w+)*\s*\(|\bt\.(?:assert\.)?(?!plan|log|timeout|teardown|end|comment|context|title|skip|todo|test|before|after|mock|diagnostic|signal|name|run)\w+\s*\(|\.should\b|\bshould\.\w+/g,
  python: /^\s*assert\b|\bself\.(?:assert\w+|fail)\s*\(|\bpytest\.(?:raises|warns)\s*\(/gm,
  go: /\bt\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\s*\(|\b(?:assert|require)\.\w+\s*\(/g,
  rust: /\b(?:debug_)?assert(?:_\w+)?!\s*\(|\bpanic!\s*\(|\bprop_assert\w*!\s*\(/g,
  java: /\b(?:Assertions\.|Assert\.)?(?:assert\w+|fail|verify)\s*[({]/g,
}

function isEmpty(code: string, found: RegExpExecArray, language: Language): boolean {
  const [call] = found
  const end = found.index + call.length
  if (language === 'python' && /assert\s*$/.test(call)) {
    const line = code.slice(end).split('\n')[0] ?? ''
    return isTrivial([line.replace(/,\s*(['"]).*\1\s*$/, '')])
  }
  if (!call.endsWith('(')) return false
  if (/\bt\.pass\s*\($/.test(call)) return true
  const inside = argumentsAt(code, end)
  // supertest has it as a method that asserts by itself.
  if (/\bexpect/.test(call) && code[found.index - 1] === '.') return inside.words.length === 0
  if (/\bexpect/.test(call)) return isEmptyExpect(code, end, inside)
  if (/\b(fail|raises|warns|verify|Error|Errorf|Fatal|Fatalf|Fail|FailNow)\s*\($|panic!/.test(call))
    return false
  return isTrivial(inside.words)
}

/** `expect(1).toBe(1)`, and `expect(x)` without a matcher. */
function isEmptyExpect(code: string, end: number, { words, close }: Arguments): boolean {
  const matcher = /^(?:\s*\.\s*(?:not|resolves|rejects))*\s*\.\s*(\w+)\s*\(?/.exec(code.slice(close + 1))
  if (matcher === null) return true
  if (words.length !== 1 || !isLiteral(words[0] ?? '')) {
    const expected = argumentsAt(code, close + 1 + matcher[0].length)
    return matcher[0].endsWith('(') && words.length > 0 && expected.words.join() === words.join() && end > 0
  }
  return !/not\b/.test(matcher[0])
}

/** Literals only, or the same thing on both sides. */
function isTrivial(words: readonly string[]): boolean {
  const said = words.filter(word => word.trim() !== '')
  if (said.length === 0) return true
  const [first = '', second] = said
  const compared = /^(.+?)\s*(===?|==|is)\s*(.+)$/.exec(first)
  if (said.length === 1 && compared) return compared[1]?.trim() === compared[3]?.trim()
  if (said.length === 1) return isLiteral(first)
  return isLiteral(first) && (second === undefined || isLiteral(second) || isText(second))
    ? true
    : first === second
}

function isLiteral(word: string): boolean {
  return /^(?:!?(?:true|false|True|False|null|None|undefined)|!*[01]|-?\d[\d_.]*|(['"`])[^'"`]*\1|\[\s*\]|\{\s*\})$/.test(
    word.trim(),
  )
}

function isText(word: string): boolean {
  return /^['"`]/.test(word.trim())
}

interface Arguments {
  words: string[]
  /** Index of the closing bracket. */
  close: number
}

/** The text between the brackets, split at the commas of the outermost level. */
function argumentsAt(code: string, start: number): Arguments {
  const words = ['']
  let depth = 0
  let quote = ''
  for (let at = start; at < Math.min(code.length, start + MAX_ARGUMENTS); at += 1) {
    const char = code[at] ?? ''
    if (quote !== '') {
      if (char === quote && code[at - 1] !== '\\') quote = ''
    } else if (char === '"' || char === "'" || char === '`') quote = char
    else if ('([{'.includes(char)) depth += 1
    else if (')]}'.includes(char)) {
      if (depth === 0) return { words: words.map(word => word.trim()).filter(word => word !== ''), close: at }
      depth -= 1
    } else if (char === ',' && depth === 0) {
      words.push('')
      continue
    }
    words.push((words.pop() ?? '') + char)
  }
  return { words, close: code.length }
}

const MAX_ARGUMENTS = 4_000

/** A commented assertion asserts nothing. Texts stay: they are compared. */
function withoutComments(text: string, language: Language): string {
  const pattern = language === 'python' ? PYTHON_PARTS : C_PARTS
  return text.replace(pattern, part =>
    /^(\/\/|\/\*|#|"""|''')/.test(part) ? part.replace(/[^\n]/g, ' ') : part,
  )
}

const C_PARTS = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g
const PYTHON_PARTS = /#[^\n]*|"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g
