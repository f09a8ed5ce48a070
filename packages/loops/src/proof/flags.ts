import { type FileLines, lostLines, otherImports } from './changed-lines.ts'
import { withoutEscapes } from './code-text.ts'
import { CI, isTestFile, LOCK } from './file-kinds.ts'
import { LINE_RULES, type LineRule } from './line-rules.ts'
import type { Matter } from './matter.ts'
import type { Flag, FlagKind } from './verdict.ts'

export interface DiffFacts {
  files: readonly { status: string; path: string }[]
  matter: Matter
  /** Null if they are too many to be compared. */
  lines: readonly FileLines[] | null
  diff: { insertions: number; deletions: number }
  /** True if the commit has such a file. */
  isThere: (path: string) => boolean
}

/** Flags of the difference of two commits, read from its files and lines. */
export function flagsOfDiff(facts: DiffFacts): Flag[] {
  const { files, matter, lines, diff } = facts
  const paths = files.map(({ path }) => path)
  const touched = (pattern: RegExp) => paths.filter(path => pattern.test(path))
  return [
    ...flag('checks-changed', matter.means, 'Changed what its own checks run, or how.'),
    ...flag('unknown-matter', matter.unknown, 'Checks read files that it changed, and no rule knows them.'),
    ...(lines === null
      ? [
          noted('not-known', 'Its change is too large to be read line by line.'),
          ...flag('tests-weakened', matter.tests, 'Changed tests by more than can be compared.'),
        ]
      : [...flagsOfTests(facts, lines), ...flagsOfLines(matter, lines)]),
    ...flag('ci-changed', touched(CI), 'Changed how the project is built and tested elsewhere.'),
    ...flag('lock-changed', touched(LOCK), 'Changed the versions of dependencies.'),
    ...flag('secret-path', touched(SECRET), 'Touched files that often hold secrets.'),
    ...(diff.deletions >= LARGE_DELETION && diff.deletions > diff.insertions
      ? [noted('large-deletion', `Deleted ${diff.deletions} lines and added ${diff.insertions}.`)]
      : []),
  ]
}

export function flag(kind: FlagKind, files: readonly string[], words: string): Flag[] {
  return files.length === 0 ? [] : [{ kind, words, files: [...new Set(files)].slice(0, MAX_FILES) }]
}

/** A flag that names no file. */
export function noted(kind: FlagKind, words: string): Flag {
  return { kind, words, files: [] }
}

function flagsOfTests({ matter, isThere }: DiffFacts, all: readonly FileLines[]): Flag[] {
  const isMatter = new Set(matter.tests)
  const tests = all.filter(({ path }) => isMatter.has(path))
  const deleted = new Set(paths(tests.filter(({ status }) => status === 'D')))
  const lost = lostLines(tests)
  const gone = lost.filter(({ path }) => deleted.has(path))
  const edited = lost.filter(({ path }) => !deleted.has(path))
  // A test may be beside the code that it tests, as in Rust.
  const within = lostLines(all.filter(({ path }) => !isMatter.has(path) && !matter.means.includes(path)))
    .map(({ path, lines }) => ({ path, lines: lines.filter(line => ASSERTS.test(line)) }))
    .filter(({ lines }) => lines.length > 0)
  return [
    ...flag('tests-deleted', paths(gone), `Deleted tests (${count(gone)} that can be found nowhere else).`),
    ...flag('tests-weakened', paths(edited), `Changed tests that were there before (${count(edited)}).`),
    ...flag('tests-weakened', paths(within), `Removed ${count(within)} with assertions from code.`),
    ...flag(
      'tests-weakened',
      otherImports(all, isThere),
      'Tests something else: its imports lead elsewhere.',
    ),
  ]
}

function flagsOfLines(matter: Matter, all: readonly FileLines[]): Flag[] {
  const judging = new Set([...matter.tests, ...matter.means, ...matter.unknown])
  return LINE_RULES.flatMap(rule => {
    const found = all.filter(file => appliesTo(rule, file, judging) && has(file, rule.pattern))
    return flag(rule.kind, paths(found), rule.words)
  })
}

function appliesTo(rule: LineRule, { path, status }: FileLines, judging: ReadonlySet<string>): boolean {
  if (rule.onlyChanged && status === 'A') return false
  if (NOT_CODE.test(path)) return false
  const isJudging = judging.has(path) || isTestFile(path)
  return rule.in === 'both' || (rule.in === 'tests') === isJudging
}

/** More often than before: a line that was only moved or reformatted is not new. */
function has({ added, removed }: FileLines, pattern: RegExp): boolean {
  const times = (lines: readonly string[]) =>
    lines.filter(line => !COMMENT.test(line) && pattern.test(withoutEscapes(line))).length
  return times(added) > times(removed)
}

function paths(found: readonly { path: string }[]): string[] {
  return found.map(({ path }) => path)
}

function count(found: readonly { lines: string[] }[]): string {
  const lines = found.reduce((sum, one) => sum + one.lines.length, 0)
  return lines === 1 ? '1 line' : `${lines} lines`
}

const SECRET =
  /(^|\/)(\.env(\.[^/]*)?|\.npmrc|\.netrc|\.pypirc|id_(rsa|dsa|ecdsa|ed25519)|credentials(\.[a-z]+)?|secrets?(\.[a-z]+)?)$|\.(pem|p12|pfx|key|keystore|jks)$/i
const ASSERTS = /\b(expect|assert\w*!?|should)\b|#\[test\]|>>> |\b(it|test)\s*\(/
const NOT_CODE = /\.(md|mdx|markdown|txt|rst|adoc|svg|lock)$|(^|\/)(LICEN[CS]E|CHANGELOG)[^/]*$/i
const COMMENT = /^\s*(\/\/|\*|\/\*|#(?![![]))/
const LARGE_DELETION = 300
const MAX_FILES = 20
