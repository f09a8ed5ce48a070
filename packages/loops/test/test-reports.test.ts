import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import {
  goText,
  readGoReport,
  readJestReport,
  readMochaReport,
  readNodeReport,
  readPlaywrightReport,
} from '../src/proof/runners/json-reports.ts'
import { readJunit } from '../src/proof/runners/junit-report.ts'
import type { Report } from '../src/proof/runners/report.ts'
import { readCargo, readTap, readUnittest, readUvu } from '../src/proof/runners/text-reports.ts'

// Captured from the runners themselves (but `go.ndjson`, which is written after the documentation of `go test -json`):
// each suite has a test that passes, one that is skipped, one that fails, and what else the runner knows.
const captured = (name: string) =>
  readFileSync(path.join(import.meta.dirname, 'fixtures', 'reports', name), 'utf8')

const countsOf = (report: Report | undefined) => {
  const of = (outcome: string) => report?.cases.filter(one => one.outcome === outcome).length
  return [of('passed'), of('failed'), of('skipped'), of('todo'), of('failing-by-design')]
}

const READ: [string, (content: string) => Report | undefined, (number | undefined)[], string | undefined][] =
  [
    ['jest.json', content => readJestReport(content, 'jest'), [1, 1, 1, 1, 1], 'sum fails'],
    // Its report counts a test that is expected to fail as passed.
    ['vitest.json', content => readJestReport(content, 'vitest'), [2, 1, 1, 1, 0], 'sum fails'],
    // To mocha a test without a function is skipped.
    ['mocha.ndjson', readMochaReport, [1, 1, 3, 0, 0], 'sum fails'],
    ['playwright.json', readPlaywrightReport, [1, 1, 1, 1, 1], 'fails'],
    ['node-test.ndjson', readNodeReport, [2, 2, 1, 2, 0], 'fails'],
    ['pytest.xml', content => readJunit(content, 'pytest'), [4, 1, 1, 0, 1], 'py.test_a test_p[2]'],
    ['surefire.xml', content => readJunit(content, 'junit'), [1, 1, 1, 0, 0], 'small.SumTest fails'],
    ['ava.tap', content => readTap(content, 'ava'), [3, 1, 1, 1, 0], 'a › fails'],
    ['tape.tap', content => readTap(content, 'tap'), [2, 1, 0, 1, 0], 'fails > should be strictly equal'],
    ['uvu.txt', readUvu, [1, 1, 1, 0, 0], 'fails'],
    ['unittest.txt', readUnittest, [1, 1, 1, 0, 1], 'test_u.Sum.test_fails test_fails'],
    ['cargo.txt', readCargo, [1, 1, 1, 0, 1], 'fails'],
    ['go.ndjson', readGoReport, [1, 1, 1, 0, 0], 'example.org/small TestFails'],
  ]

test.each(READ)('%s: passed, failed, skipped, todo, expected to fail', (name, read, counts, failing) => {
  const report = read(captured(name))
  expect(countsOf(report)).toEqual(counts)
  expect(report?.cases.find(({ outcome }) => outcome === 'failed')?.name).toBe(failing)
})

test.each(READ)('%s: half of it, or something else, is no report', (name, read) => {
  const whole = captured(name)
  const half = read(whole.slice(0, Math.floor(whole.length / 3)))
  // Lines without an end have fewer tests; the others are not read at all.
  expect(half === undefined || half.cases.length < (read(whole)?.cases.length ?? 0)).toBe(true)
  for (const other of ['', 'Segmentation fault\n', '{}', '[]', 'null', '<html></html>'])
    expect(read(other)).toBeUndefined()
})

test('go: its report is shown as the text that it stands for', () => {
  expect(goText(`${captured('go.ndjson')}exit status 1`)).toBe(
    '=== RUN   TestAdds\n--- PASS: TestAdds (0.00s)\n--- SKIP: TestSkipped (0.00s)\n    sum_test.go:12: got 3, want 4\nFAIL\nexit status 1\n',
  )
})

test('cargo: with -q only its summaries say how many there were', () => {
  const quiet =
    'running 3 tests\ni.F\ntest result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out\n'
  expect(countsOf(readCargo(quiet))).toEqual([1, 1, 1, 0, 0])
})

test('TAP: lines that a test prints are not counted, and a second run is', () => {
  const one = 'TAP version 13\nok 1 - a\nok 7 - printed by the code\nnot ok 2 - b\n1..2\n'
  expect(countsOf(readTap(one + one, 'ava'))).toEqual([2, 2, 0, 0, 0])
})

test('JUnit: brackets and quotes in names and messages are no elements', () => {
  const xml = `<?xml version="1.0"?><testsuites><testsuite><testcase classname="a" name="x > y &lt;skipped/&gt;"/>
<testcase name='b "q"'><failure message="&lt;testcase name='no'/&gt;"><![CDATA[<testcase name="no"/>]]></failure></testcase>
<!-- <testcase name="no"/> --></testsuite></testsuites>`
  const report = readJunit(xml, 'junit')
  expect(report?.cases.map(({ name, outcome }) => [name, outcome])).toEqual([
    ['a x > y <skipped/>', 'passed'],
    ['b "q"', 'failed'],
  ])
})
