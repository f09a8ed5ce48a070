import { stripVTControlCharacters } from 'node:util'
import { type Outcome, type Report, type TestCase, times } from './report.ts'

/** TAP as ava, tape and others print it. Each `TAP version` begins another stream. */
export function readTap(output: string, runner: 'ava' | 'tap'): Report | undefined {
  const streams = output.split(/^TAP version \d+\s*$/m).slice(1)
  if (streams.length === 0) return undefined
  const cases = streams.map(tapCases)
  // A stream ends with its plan, `1..5`: without it, it was cut off.
  const isWhole = streams.every(
    (stream, at) => Number(/^1\.\.(\d+)/m.exec(stream)?.[1]) === cases[at]?.length,
  )
  return isWhole ? { runner, cases: cases.flat() } : undefined
}

function tapCases(stream: string): TestCase[] {
  const cases: TestCase[] = []
  let group = ''
  for (const line of stream.split('\n')) {
    const comment = /^# (?!(?:tests|pass|fail|skip|todo)\s+\d+\s*$|ok\s*$)(.+)/.exec(line)
    if (comment) group = comment[1] ?? ''
    const found = /^(not )?ok (\d+)(?: - | |$)(.*)/.exec(line.trimEnd())
    // A test may print a line like it: the numbers of TAP go up by one.
    if (!found || Number(found[2]) !== cases.length + 1) continue
    const [, not, , rest = ''] = found
    const name = rest.replace(TAP_DIRECTIVE, '').trim()
    cases.push({
      name: group === '' ? name : `${group} > ${name}`,
      outcome: tapOutcome(not !== undefined, rest),
    })
  }
  return cases
}

const TAP_DIRECTIVE = /\s+#\s*(SKIP|TODO)\b.*$/i

function tapOutcome(failed: boolean, rest: string): Outcome {
  const directive = TAP_DIRECTIVE.exec(rest)?.[1]?.toUpperCase()
  if (directive === 'TODO') return 'todo'
  if (directive === 'SKIP') return 'skipped'
  return failed ? 'failed' : 'passed'
}

/** cargo's stable form: `test a::b ... ok`, and a summary for each program of tests. */
export function readCargo(output: string): Report | undefined {
  const lines = stripVTControlCharacters(output).split('\n')
  if (!lines.some(line => /^test result: /.test(line))) return undefined
  const files: string[] = []
  const cases: TestCase[] = []
  for (const line of lines) {
    const file = /^\s*Running (?:unittests )?(\S+\.rs) \(/.exec(line)?.[1]
    if (file !== undefined) files.push(file)
    const found = /^test (.+?)( - should panic)? \.\.\. (ok|FAILED|ignored)\b/.exec(line)
    if (!found) continue
    const [, name = '', panics, word] = found
    const passed = panics === undefined ? 'passed' : 'failing-by-design'
    const outcome = word === 'ok' ? passed : word === 'FAILED' ? 'failed' : 'skipped'
    cases.push({ name, file: files.at(-1), outcome })
  }
  // A test that prints may break its own line, and with `-q` there are none: the summaries are right then.
  const [passed = 0, failed = 0, ignored = 0] = sumOf(
    lines,
    /^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/,
  )
  const of = (...outcomes: Outcome[]) => cases.filter(one => outcomes.includes(one.outcome)).length
  const lacking = [
    ...times(passed - of('passed', 'failing-by-design'), 'passed'),
    ...times(failed - of('failed'), 'failed'),
    ...times(ignored - of('skipped'), 'skipped'),
  ]
  return { runner: 'cargo test', cases: [...cases, ...lacking], files }
}

/** `Ran 3 tests`, then `OK (skipped=1)` or `FAILED (failures=1)`. */
export function readUnittest(output: string): Report | undefined {
  const runs = [...output.matchAll(/^Ran (\d+) tests? in .*\n\n?(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?/gm)]
  if (runs.length === 0) return undefined
  const failing = [...output.matchAll(/^(?:FAIL|ERROR): (\S+) \((\S+)\)/gm)].map(
    ([, name = '', group = '']): TestCase => ({ name: `${group} ${name}`, outcome: 'failed' }),
  )
  const cases = runs.flatMap(([, ran = '0', , details = '']) => {
    const number = (word: string) => Number(new RegExp(`(?:^|, )${word}=(\\d+)`).exec(details)?.[1] ?? 0)
    const skipped = number('skipped')
    const expected = number('expected failures')
    const failed = number('failures') + number('errors') + number('unexpected successes')
    return [
      ...times(Number(ran) - skipped - expected - failed, 'passed'),
      ...times(skipped, 'skipped'),
      ...times(expected, 'failing-by-design'),
      ...times(failed - failing.length, 'failed'),
    ]
  })
  return { runner: 'unittest', cases: [...cases, ...failing] }
}

/** The summary that uvu prints. */
export function readUvu(output: string): Report | undefined {
  const plain = stripVTControlCharacters(output)
  const runs = [...plain.matchAll(/^\s+Total:\s+(\d+)\s*\n\s+Passed:\s+(\d+)\s*\n\s+Skipped:\s+(\d+)/gm)]
  if (runs.length === 0) return undefined
  const failing = [...plain.matchAll(/^\s+FAIL\s+(?:.*?)"(.+)"\s*$/gm)].map(
    ([, name = '']): TestCase => ({ name, outcome: 'failed' }),
  )
  const [total = 0, passed = 0, skipped = 0] = [1, 2, 3].map(at =>
    runs.reduce((sum, run) => sum + Number(run[at]), 0),
  )
  return {
    runner: 'uvu',
    cases: [
      ...times(passed, 'passed'),
      ...times(skipped, 'skipped'),
      ...failing,
      ...times(total - passed - failing.length, 'failed'),
    ],
  }
}

function sumOf(lines: readonly string[], pattern: RegExp): number[] {
  const sums: number[] = []
  for (const line of lines)
    for (const [at, number] of (pattern.exec(line) ?? []).slice(1).entries())
      sums[at] = (sums[at] ?? 0) + Number(number)
  return sums
}
