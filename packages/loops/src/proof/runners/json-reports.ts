import type { RunnerName } from './counted.ts'
import {
  isRecord,
  jsonLines,
  type Outcome,
  parsed,
  type Report,
  records,
  type TestCase,
  text,
} from './report.ts'

/** `--json --outputFile` of jest, and vitest's reporter `json`, which has the same form. */
export function readJestReport(content: string, runner: RunnerName): Report | undefined {
  const report = parsed(content)
  if (!isRecord(report) || !Array.isArray(report.testResults)) return undefined
  const files: string[] = []
  const cases = records(report.testResults).flatMap((file): TestCase[] => {
    const name = text(file.name)
    files.push(name)
    const tests = records(file.assertionResults).map(
      test =>
        ({
          name: text(test.fullName),
          file: name,
          outcome:
            test.failing === true && test.status === 'passed'
              ? 'failing-by-design'
              : jestOutcome(test.status),
        }) satisfies TestCase,
    )
    // It could not be loaded: it has no test, and the run failed.
    return tests.length === 0 && file.status === 'failed' ? [{ name, file: name, outcome: 'failed' }] : tests
  })
  return { runner, cases, files }
}

function jestOutcome(status: unknown): Outcome {
  if (status === 'passed' || status === 'failed' || status === 'todo') return status
  return 'skipped'
}

/** Reads our own reporter for mocha: one line a test, and `end` when the run is over. */
export function readMochaReport(content: string): Report | undefined {
  const lines = jsonLines(content)
  if (!lines.some(({ type }) => type === 'end')) return undefined
  const cases = lines
    .filter(({ type }) => type === 'pass' || type === 'fail' || type === 'pending')
    // A test without a function and one that is skipped are the same to mocha.
    .map(({ type, name, file }): TestCase => {
      const outcome = type === 'pass' ? 'passed' : type === 'fail' ? 'failed' : 'skipped'
      return { name: text(name), file: text(file) || undefined, outcome }
    })
  return { runner: 'mocha', cases }
}

/** Reads our own reporter for node:test: its events, and `end` when the run is over. */
export function readNodeReport(content: string): Report | undefined {
  const lines = jsonLines(content)
  if (!lines.some(({ type }) => type === 'end')) return undefined
  const files = new Set<string>()
  const cases = lines.flatMap((event): TestCase[] => {
    const { type, name, file } = event
    const path = text(file) || undefined
    if (path !== undefined) files.add(path)
    if ((type !== 'test:pass' && type !== 'test:fail') || event.suite === true) return []
    const failed = type === 'test:fail'
    // A file is a test of its own: it passes without any test in it.
    if (name === file && !failed) return []
    return [{ name: text(name), file: path, outcome: nodeOutcome(event, failed) }]
  })
  return { runner: 'node:test', cases, files: [...files] }
}

function nodeOutcome(event: Record<string, unknown>, failed: boolean): Outcome {
  if (event.todo === true) return 'todo'
  if (event.skip === true) return 'skipped'
  if (failed) return 'failed'
  return event.expectFailure === true ? 'failing-by-design' : 'passed'
}

/** Playwright's reporter `json`. */
export function readPlaywrightReport(content: string): Report | undefined {
  const report = parsed(content)
  if (!isRecord(report) || !Array.isArray(report.suites)) return undefined
  const root = isRecord(report.config) ? text(report.config.rootDir) : ''
  const cases: TestCase[] = []
  const walk = (suite: Record<string, unknown>, titles: string[]) => {
    for (const spec of records(suite.specs))
      for (const test of records(spec.tests))
        cases.push({
          name: [...titles, text(spec.title)].join(' '),
          file: root === '' ? text(spec.file) : `${root}/${text(spec.file)}`,
          outcome: playwrightOutcome(test),
        })
    for (const inner of records(suite.suites)) walk(inner, [...titles, text(inner.title)])
  }
  for (const suite of records(report.suites)) walk(suite, [])
  for (const error of records(report.errors))
    cases.push({ name: text(error.message).split('\n')[0] ?? '', outcome: 'failed' })
  return { runner: 'playwright', cases }
}

function playwrightOutcome({ status, expectedStatus, annotations }: Record<string, unknown>): Outcome {
  if (status === 'unexpected') return 'failed'
  if (status === 'skipped')
    return records(annotations).some(({ type }) => type === 'fixme') ? 'todo' : 'skipped'
  return expectedStatus === 'failed' ? 'failing-by-design' : 'passed'
}

/** `go test -json`, which is also what GOFLAGS=-json makes of `go test`. */
export function readGoReport(content: string): Report | undefined {
  const events = jsonLines(content).filter(
    ({ Action, Package }) => Action !== undefined && Package !== undefined,
  )
  if (events.length === 0) return undefined
  const cases = new Map<string, TestCase>()
  for (const { Action, Package, Test } of events) {
    const outcome = GO_OUTCOMES.get(text(Action))
    if (outcome === undefined) continue
    const inPackage = text(Package)
    // Of a package only its failure counts, and only if no test says why.
    const hasFailed = [...cases.keys()].some(
      key => key.startsWith(`${inPackage} `) && cases.get(key)?.outcome === 'failed',
    )
    if (Test === undefined && (outcome !== 'failed' || hasFailed)) continue
    const name = Test === undefined ? inPackage : `${inPackage} ${text(Test)}`
    cases.set(name, { name, outcome })
  }
  return { runner: 'go test', cases: [...cases.values()] }
}

const GO_OUTCOMES = new Map<string, Outcome>([
  ['pass', 'passed'],
  ['fail', 'failed'],
  ['skip', 'skipped'],
])

/** The text that `go test` would have printed without -json. */
export function goText(output: string): string {
  return output
    .split('\n')
    .map(line => {
      const event = line.startsWith('{') ? parsed(line) : undefined
      if (!isRecord(event) || event.Action === undefined) return `${line}\n`
      return event.Action === 'output' || event.Action === 'build-output' ? text(event.Output) : ''
    })
    .join('')
}
