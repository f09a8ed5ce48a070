import { noted } from './flags.ts'
import type { BaseResult, CheckCount, Flag, TestCounts } from './verdict.ts'

/** Flags from the counts of runners before and after. */
export function flagsOfCounts(
  base: readonly BaseResult[],
  own: readonly CheckCount[],
  {
    checks,
    hasChangedTests,
    passed,
  }: { checks: readonly string[]; hasChangedTests: boolean; passed: (at: number) => boolean },
): Flag[] {
  return checks.flatMap((command, at) => {
    const before = base.find(result => result.command === command)
    return [
      ...flagsOfRun(command, before, { ...own[at], hasChangedTests }),
      ...(passed(at) ? failedAndPassed(command, own[at]) : []),
    ]
  })
}

/** Something took the failure away after the runner had found it. */
function failedAndPassed(command: string, now: CheckCount | undefined): Flag[] {
  const { counts, failing = [] } = now?.counted ?? {}
  if (counts === undefined || counts.failed === 0) return []
  const names = failing.length === 0 ? '' : ` (${failing.slice(0, 3).join(', ')})`
  return [
    noted('tests-weakened', `\`${command}\` passes although ${counts.failed} of its tests fail${names}.`),
  ]
}

function flagsOfRun(
  command: string,
  before: BaseResult | undefined,
  now: Partial<CheckCount> & { hasChangedTests: boolean },
): Flag[] {
  const was = before?.counted?.counts
  const is = now.counted?.counts
  if (is === undefined) {
    const why = now.uncounted ?? before?.uncounted
    if (was !== undefined)
      return [
        noted('no-tests', `\`${command}\` ran ${was.tests} tests before, and now they cannot be counted.`),
      ]
    // Nothing that was there can be missing if no test was changed.
    if (why === undefined || !now.hasChangedTests) return []
    return [noted('not-known', `Tests were changed, and those of \`${command}\` cannot be counted: ${why}`)]
  }
  if (ranIn(is) <= 0) return [noted('no-tests', `\`${command}\` passes without running a test.`)]
  if (was === undefined) return []
  const fewer = (words: string, a: number, b: number) =>
    b < a ? [noted('tests-deleted', `\`${command}\` has ${words}: ${a} before, ${b} now.`)] : []
  const more = (words: string, a: number, b: number) =>
    b > a ? [noted('tests-skipped', `\`${command}\` has ${words}: ${a} before, ${b} now.`)] : []
  return [
    ...fewer('fewer tests', was.tests, is.tests),
    ...(is.tests < was.tests ? [] : fewer('fewer tests that run', ranIn(was), ranIn(is))),
    ...more('more tests that are skipped', was.skipped, is.skipped),
    ...more('more tests that are only planned', was.todo, is.todo),
    ...more('more tests that count when they fail', was.failingByDesign, is.failingByDesign),
    ...(was.assertions !== null && is.assertions !== null && is.assertions < was.assertions
      ? [
          noted(
            'tests-weakened',
            `\`${command}\` has fewer assertions: ${was.assertions} before, ${is.assertions} now.`,
          ),
        ]
      : []),
  ]
}

export function ranIn({ tests, skipped, todo }: TestCounts): number {
  return tests - skipped - todo
}
