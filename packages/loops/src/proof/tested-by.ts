import { posix } from 'node:path'
import { stemOf } from './led-files.ts'

/** Texts of the tests before the task, by file. */
export type TestTexts = ReadonlyMap<string, string>

/** True if tests take an assertion from a file: they call an import of it alone on a line, and its name says so. */
export function assertsForTests(file: string, tests: TestTexts): boolean {
  const stem = stemOf(file)
  for (const [test, text] of tests)
    for (const [, a, b, c, d, module, names] of text.matchAll(IMPORTED)) {
      if (!isFrom(test, b ?? d ?? module ?? '', stem)) continue
      for (const name of namesOf(a ?? c ?? names ?? '')) if (isAssertion(name, text)) return true
    }
  return false
}

/** True if a test reads a file as text, to compare with. A test that imports it as data does not count. */
export function isReadByTests(file: string, tests: TestTexts): boolean {
  const name = posix.basename(file)
  for (const text of tests.values())
    for (const line of text.split('\n'))
      if (line.includes(name) && !/\b(?:import|from|require)\b/.test(line.replace(/import\.meta/g, '')))
        return true
  return false
}

function isFrom(test: string, from: string, stem: string): boolean {
  if (from.startsWith('.')) {
    const at = posix.join(posix.dirname(test), from)
    return at === stem || stemOf(at) === stem
  }
  // A module of Python, or a name that a configuration leads to the file.
  const named = from.replaceAll('.', '/').replace(/^[@~#]\/?/, '')
  return named !== '' && (stem === named || stem.endsWith(`/${named}`))
}

/** `x`, `* as x`, `{ a, b as c }`, `{ a: b }`. */
function namesOf(clause: string): string[] {
  return clause
    .split(/[{},()\n]/)
    .map(part => /(\w+)\s*$/.exec(part.replace(/^.*(?:\bas\b|:)/, ''))?.[1] ?? '')
    .filter(Boolean)
}

function isAssertion(name: string, text: string): boolean {
  const call = new RegExp(
    String.raw`(?:^|[;{}]|=>)[ \t]*(?:await\s+|return\s+)?${name}((?:\.\w+)*)\s*\(`,
    'gm',
  )
  return [...text.matchAll(call)].some(([, members = '']) =>
    ASSERTS.test(members === '' ? name : (members.split('.').at(-1) ?? '')),
  )
}

const IMPORTED =
  /\bimport\s+([^'";]+?)\s+from\s*['"]([^'"\n]+)['"]|\b(?:const|let|var)\s+([^=;]+?)\s*=\s*(?:await\s+)?(?:require|import)\s*\(\s*['"]([^'"\n]+)['"]|^\s*from\s+([\w.]+)\s+import\s+(.+)$/gm
const ASSERTS =
  /^(?:assert|expect|should|must|check|verify|ensure|same|sure|not|deep|strict)(?:$|[A-Z_])|^(?:is|ok|equal|equals|eql|eq|toBe|toEqual|throws|rejects|match|like|truthy|falsy|fail)$|(?:Equal|Equals|Matches|Throws)$/
