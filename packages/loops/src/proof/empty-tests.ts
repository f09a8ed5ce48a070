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

const DEFINES = /\b(?:it|test|specify)(?:\.\w+)*\s*\(\s*['"`]|^\s*(?:async\s+)?def\s+test_?\w*\s*\(/gm
const DEFINES_ONE = new RegExp(DEFINES.source, 'm')
/** The languages in which an assertion can be told from another call. */
const KNOWN = /\.(?:[cm]?[jt]sx?|py)$/
/** A function of the tests that asserts, a test made by one, or a test that fails by itself. */
const BY_HELPER =
  /\b(?:check|verify|ensure|must|assert|expect|should)[A-Z_]\w*\s*\(|\b(?:check|verify|ensure)\s*\(|\.expect\w*\s*\(|\.assert_\w+\s*\(|\b(?:it|test)(?:\.\w+)*\([^,()\n]*,\s*[\w.]+\s*[,)]|\bthrow\b|\braise\b|\bdone\s*\(\s*\w|\breject\s*\(|[sS]creenshot|snapshot/
