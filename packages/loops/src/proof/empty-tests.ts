import { type FileLines, lostLines, newLines } from './changed-lines.ts'
import { flag } from './flags.ts'
import { countAssertions } from './runners/assertions.ts'
import type { Flag } from './verdict.ts'

/** New tests that only call what they are about: they fail without the change, and hold for whatever it does. */
export function flagsOfEmptyTests(tests: readonly FileLines[]): Flag[] {
  const added = newLines(tests).map(({ path, lines }) => ({ path, text: lines.join('\n') }))
  const defined = (texts: readonly string[]) =>
    texts.reduce((sum, text) => sum + [...text.matchAll(DEFINES)].length, 0)
  const gone = lostLines(tests).map(({ lines }) => lines.join('\n'))
  if (defined(added.map(({ text }) => text)) <= defined(gone)) return []
  const isKnown = added.every(({ path, text }) => !DEFINES_ONE.test(text) || KNOWN.test(path))
  const asserts = added.some(
    ({ path, text }) => (countAssertions(path, text) ?? 0) > 0 || BY_HELPER.test(text),
  )
  if (!isKnown || asserts) return []
  return flag(
    'proves-nothing',
    added.map(({ path }) => path),
    'Its new tests assert nothing.',
  )
}

/** New assertions in a callback that the test does not wait for: it is over before they fail. */
export function flagsOfUnawaited(tests: readonly FileLines[]): Flag[] {
  const found = newLines(tests).filter(({ lines }) => {
    const text = lines.join('\n')
    return [...text.matchAll(LATER)].some(({ index, 0: said }) => {
      const after = text.slice(index, index + said.length + 200)
      return !/\bawait\b|\breturn\b|=>\s*$/.test(said.split(/set[A-Z]|\.then/)[0] ?? '') && !ENDS.test(after)
    })
  })
  return flag(
    'proves-nothing',
    found.map(({ path }) => path),
    'Its new tests do not wait for what they assert.',
  )
}

const ASSERTION = String.raw`\b(?:assert|expect|t)\b[.(]`
const LATER = new RegExp(
  String.raw`^[^\n]*\bset(?:Timeout|Interval|Immediate)\s*\(\s*(?:async\s*)?(?:\(\w*\)|\w+|function\s*\(\))\s*(?:=>)?\s*\{?[^{}]{0,200}?${ASSERTION}|^[^\n]*\.then\s*\(\s*(?:async\s*)?(?:\(?\w*\)?)\s*=>\s*\{?[^{}]{0,200}?${ASSERTION}`,
  'gm',
)
/** The test is told that it is over, or that there is one more promise to wait for. */
const ENDS = /\b(?:done|resolve|reject|res|rej|r|end|next|plan)\s*\(|\bPromise\b/
const DEFINES = /\b(?:it|test|specify)(?:\.\w+)*\s*\(\s*['"`]|^\s*(?:async\s+)?def\s+test_?\w*\s*\(/gm
const DEFINES_ONE = new RegExp(DEFINES.source, 'm')
/** The languages in which an assertion can be told from another call. */
const KNOWN = /\.(?:[cm]?[jt]sx?|py)$/
/** A function of the tests that asserts, a test made by one, or a test that fails by itself. */
const BY_HELPER =
  /\b(?:check|verify|ensure|must|assert|expect|should)[A-Z_]\w*\s*\(|\b(?:check|verify|ensure)\s*\(|\.expect\w*\s*\(|\.assert_\w+\s*\(|\b(?:it|test)(?:\.\w+)*\([^,()\n]*,\s*[\w.]+\s*[,)]|\bthrow\b|\braise\b|\bdone\s*\(\s*\w|\breject\s*\(|[sS]creenshot|snapshot/
