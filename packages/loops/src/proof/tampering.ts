import { withoutEscapes } from './code-text.ts'
import { isTestFile } from './file-kinds.ts'
import { flag } from './flags.ts'
import type { ChangedFile, Matter } from './matter.ts'
import { type Reach, reachOf } from './reaching.ts'
import type { Flag } from './verdict.ts'

/**
 * Code that makes tests hold by changing what tests are made of. The tests of the base do not find it: they load this code.
 * The whole file is read, as the import and the change may be far from each other.
 */
export async function flagsOfTampering(
  files: readonly ChangedFile[],
  { means, tests, unknown }: Matter,
  show: (at: 'base' | 'now', file: string) => Promise<string | undefined>,
): Promise<Flag[]> {
  const judging = new Set([...means, ...tests, ...unknown])
  const unread: string[] = []
  const found: Record<Sign, string[]> = { patches: [], equals: [], loads: [], aware: [], reaches: [] }
  for (const { path, status } of files) {
    if (status === 'D' || !CODE.test(path)) continue
    const before = status === 'A' ? [] : signsOf(path, await show('base', path))
    const isWork = !judging.has(path) && !isTestFile(path)
    const now = await show('now', path)
    if (now === undefined || now.length > MAX_CHARS) unread.push(path)
    for (const { sign } of newSigns(before, signsOf(path, now)))
      if (!OF_WORK.has(sign) || isWork) found[sign].push(path)
  }
  return [
    ...flag('not-known', unread, 'Has code that is too long to be read, or has no text.'),
    ...flag('tests-weakened', found.patches, 'Changes what assertions or the test runner do.'),
    ...flag('tests-weakened', found.equals, 'Has values that equal anything.'),
    ...flag('test-aware', found.loads, 'Has code that loads a test runner.'),
    ...flag('test-aware', found.aware, 'Has code that can notice that it is being tested.'),
    ...flag(
      'test-aware',
      found.reaches,
      'Has code that gets hold of the process, the globals or loaded modules, or that runs a text: it can change what tests say.',
    ),
  ]
}

type Sign = 'patches' | 'equals' | 'loads' | keyof Reach
/** Tests may do it for a reason. */
const OF_WORK: ReadonlySet<Sign> = new Set(['loads', 'aware', 'reaches'])

export interface FoundSign {
  sign: Sign
  /** The code that is one. */
  said: string
}

/** Signs that were not there before: an old one excuses only itself. */
function newSigns(before: readonly FoundSign[], now: readonly FoundSign[]): FoundSign[] {
  const left = before.map(({ sign, said }) => `${sign} ${said}`)
  return now.filter(({ sign, said }) => {
    const at = left.indexOf(`${sign} ${said}`)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** Signs that the text of one file changes or notices the tests that load it. */
export function signsOf(file: string, written: string | undefined): FoundSign[] {
  if (written === undefined || written.length > MAX_CHARS) return []
  const text = withoutEscapes(written)
  const code = text.replace(/^\s*(\/\/|#(?!\[)).*$/gm, '').replace(/\/\*[\s\S]*?\*\//g, '')
  const all = (sign: Sign, ...patterns: RegExp[]) =>
    patterns.flatMap(pattern => [...code.matchAll(pattern)].map(([said]) => ({ sign, said: said.trim() })))
  const reach = reachOf(file, text)
  return [
    ...all('patches', DIRECT_PATCH, GLOBAL_PATCH, ...patchesOfImports(code, isTestFile(file))),
    ...all('equals', EQUALS_ANYTHING),
    ...all('loads', RUNNER_IMPORT),
    ...reach.aware.map((said): FoundSign => ({ sign: 'aware', said })),
    ...reach.reaches.map((said): FoundSign => ({ sign: 'reaches', said })),
  ]
}

/** Patterns of code that gives a part of an assertion library or a runner another value, and outside of tests a part of any package. */
function patchesOfImports(code: string, isTest: boolean): RegExp[] {
  const bound = (binding: RegExp) =>
    [...code.matchAll(binding)].flatMap(found => namesIn(found.slice(1).find(Boolean) ?? ''))
  const member = String.raw`(?:\??\.\w+|\[[^\]\n]+\])`
  const ofLibrary = bound(BINDING).map(
    name =>
      new RegExp(
        String.raw`\b${name}${member}+\s*=(?![=>])|\b(?:Object\.(?:assign|define\w+|setPrototypeOf)|Reflect\.\w+|setattr)\(\s*${name}\b`,
        'g',
      ),
  )
  const ofPackage = (isTest ? [] : bound(PACKAGE_BINDING)).map(
    name =>
      new RegExp(
        String.raw`\b${name}${member}*\.prototype${member}\s*=(?![=>])|\b${name}${member}+\s*=\s*(?:async\s*)?(?:function\b|\w+\s*=>|\([^()\n]*\)\s*=>)|\b(?:Object\.(?:assign|define\w+)|Reflect\.(?:set|define\w+))\(\s*${name}\b`,
        'g',
      ),
  )
  return [...ofLibrary, ...ofPackage]
}

/** `x`, `* as x`, `{ a, b as c }`, `{ a: b }`. */
function namesIn(clause: string): string[] {
  return clause
    .split(/[{},()]|\n/)
    .map(part => /(\w+)\s*$/.exec(part.replace(/^.*(?:\bas\b|:)/, ''))?.[1] ?? '')
    .filter(name => /^[A-Za-z_]\w*$/.test(name))
}

const LIBRARY = String.raw`(?:node:)?(?:assert|test|chai|expect|should|vitest|jest|@jest\/\w+|ava|mocha|tape|tap|uvu|sinon|@playwright\/test|power-assert|supertest|superagent|nock|jasmine|earl)(?:\/\w+)?`
const PYTHON_LIBRARY = String.raw`(?:unittest|pytest|_pytest|nose)(?:\.\w+)*`
const BINDING = new RegExp(
  [
    String.raw`\bimport\s+([^'";]+?)\s+from\s*['"]${LIBRARY}['"]`,
    String.raw`\b(?:const|let|var)\s+([^=;]+?)\s*=\s*(?:await\s+)?(?:require|import)\s*\(\s*['"]${LIBRARY}['"]\s*\)`,
    String.raw`^\s*from\s+${PYTHON_LIBRARY}\s+import\s+(.+)$`,
    String.raw`^\s*import\s+(${PYTHON_LIBRARY}(?:\s+as\s+\w+)?)\s*$`,
  ].join('|'),
  'gm',
)
/** Whatever is not of the project itself, and what others are made of. */
const PACKAGE = String.raw`(?:@|node:)?[a-z][^'"\n]*`
const PACKAGE_BINDING = new RegExp(
  [
    String.raw`\bimport\s+([^'";]+?)\s+from\s*['"]${PACKAGE}['"]`,
    String.raw`\b(?:const|let|var)\s+([^=;]+?)\s*=\s*(?:await\s+)?(?:require|import)\s*\(\s*['"]${PACKAGE}['"]\s*\)`,
    String.raw`\b(?:const|let|var)\s+(\w+)\s*=\s*Object\.getPrototypeOf\(`,
  ].join('|'),
  'gm',
)
const DIRECT_PATCH = new RegExp(
  String.raw`(?:require|import)\s*\(\s*['"]${LIBRARY}['"]\s*\)+(?:\.\w+|\[[^\]\n]+\])+\s*=(?![=>])|(?:Object\.(?:assign|define\w+)|Reflect\.\w+)\(\s*(?:await\s+)?(?:require|import)\s*\(\s*['"]${LIBRARY}['"]`,
  'g',
)
/** Runners and assertions are made of these. */
const GLOBAL_PATCH =
  /\b(?:Object|Reflect|JSON|Number|Array|Error|Promise|Symbol|String|Math)\.\w+\s*=(?![=>])|\bprocess\.(?:exit|emit|reallyExit|stdout\.write|stderr\.write|nextTick)\s*=(?![=>])|\bsys\.(?:exit|excepthook|settrace|setprofile)\s*(?:=(?!=)|\()(?<!sys\.exit\()/g
/** Runners only: code may well use `assert` for itself. */
const RUNNER_IMPORT =
  /(?:\bfrom\s*|\brequire\s*\(\s*|\bimport\s*\(?\s*)['"](?:node:test|vitest|jest|@jest\/\w+|ava|mocha|tape|uvu|@playwright\/test)(?:\/\w+)?['"]|^\s*(?:import|from)\s+(?:unittest|pytest|_pytest)\b/gm
const EQUALS_ANYTHING =
  /\bdef\s+__(?:eq|ne|lt|le|gt|ge|contains)__\s*\([^)]*\)[^:\n]*:\s*(?:"""[\s\S]*?"""\s*)?return\s+(?:True|1)\b|\bfn\s+eq\s*\([^)]*\)\s*->\s*bool\s*\{\s*(?:return\s+)?true\b|\bequals\s*\([^)]*\)\s*(?::\s*Boolean\s*)?(?:\{\s*return\s+true|=\s*true)|\bEquals\s*\([^)]*\)\s*(?:=>\s*true|\{\s*return\s+true)|\bdef\s+==\s*\(?\w*\)?\s*\n\s*true\b|\[Symbol\.(?:toPrimitive|hasInstance)\]/g
const CODE = /\.([cm]?[jt]sx?|py|rs|go|java|kt|kts|scala|cs|rb|vue|svelte)$/i
const MAX_CHARS = 1_000_000
