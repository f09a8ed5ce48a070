import { access } from 'node:fs/promises'
import path from 'node:path'
import type { CheckResult } from '../../checks.ts'
import type { TestCounts } from '../verdict.ts'
import { countAssertions, countFailingByDesign } from './assertions.ts'
import type { Counted, CountOptions } from './counted.ts'
import { commandTextOf, detectRunner } from './detect-runner.ts'
import { goText } from './json-reports.ts'
import { findJunitFiles, type JunitFiles } from './junit-files.ts'
import { readReports } from './read-reports.ts'
import { readText } from './read-text.ts'
import type { Outcome, Report, TestCase } from './report.ts'
import { type ReportFolder, startReports } from './start-reports.ts'
import { findTestFiles } from './test-files.ts'

/**
 * Runs the check once, as it is, with the reports of the runners that it starts switched on by its environment, and counts
 * what they say.
 */
export async function countTests({ check, folder, run, env = {} }: CountOptions): Promise<Counted> {
  const commands = await commandTextOf(check, folder)
  const runner = detectRunner(commands)
  const reports = startReports(folder, commands, env)
  try {
    const before = await findJunitFiles(folder)
    const output = new KeptOutput()
    const result = await run(check, { env: reports.env, onOutput: chunk => output.add(chunk) })
    const shown = { ...result, output: withoutTraces(result.output, reports) }
    const counted = await countFrom({ folder, reports, before, output, runner, result: shown })
    if (counted.kind === 'counted' || result.exitCode === 0 || !isOurFault(result.output)) return counted
    const plain = await run(check, { env, onOutput: () => {} })
    const why = 'The check cannot be run with a report of its runner.'
    return { kind: 'unreadable', runner, why, result: plain }
  } finally {
    reports.remove()
  }
}

/** An error about the options for reports, as where Python has a path of its own. */
function isOurFault(output: string): boolean {
  return /chirality_report|--test-reporter|chirality-reports-.*preload\.cjs/.test(output)
}

/** The output without our report: the name of our folder differs from run to run. */
function withoutTraces(output: string, { folder, isGo }: ReportFolder): string {
  const lines = output.split('\n').filter(line => !line.includes(folder) || !/report|written/i.test(line))
  return isGo ? goText(lines.join('\n')) : lines.join('\n')
}

interface Ran {
  folder: string
  reports: ReportFolder
  before: JunitFiles
  output: KeptOutput
  runner: string | null
  result: CheckResult
}

async function countFrom({ folder, reports, before, output, runner, result }: Ran): Promise<Counted> {
  const unreadable = (why: string, of = runner): Counted => ({ kind: 'unreadable', runner: of, why, result })
  if (output.isCut) return unreadable('It printed more than can be read.')
  const read = await readReports({ folder, reports, before, output: output.text(), runner })
  if (read.lacking.length > 0) {
    const [lacking = ''] = read.lacking
    return unreadable(`${lacking} was started and wrote no report: it was ended before its end.`, lacking)
  }
  if (read.reports.length === 0)
    return unreadable(
      runner === null
        ? 'It runs no test runner that is known.'
        : `${runner} left no report that can be read.`,
    )
  const names = [...new Set(read.reports.map(report => report.runner))].join(', ')
  const cases = read.reports.flatMap(report => report.cases)
  const failing = cases.filter(({ outcome }) => outcome === 'failed').map(one => nameOf(one, folder))
  const counts = await countsOf(folder, read.reports, cases)
  return { kind: 'counted', runner: names, counts, failing: [...new Set(failing)].sort(), result }
}

/** The same in each worktree: a name with its folder in it would differ from run to run. */
function nameOf({ name, file }: TestCase, folder: string): string {
  if (file === undefined || name === file) return name.replaceAll(`${folder}${path.sep}`, '')
  return `${path.basename(file)} ${name}`.trim()
}

async function countsOf(
  folder: string,
  reports: readonly Report[],
  cases: readonly TestCase[],
): Promise<TestCounts> {
  const number = (outcome: Outcome) => cases.filter(one => one.outcome === outcome).length
  const named = [...cases.map(({ file }) => file), ...reports.flatMap(({ files = [] }) => files)]
  const told = await existing(
    folder,
    named.filter(file => file !== undefined),
  )
  const files = told.length === 0 && cases.length > 0 ? null : told
  const texts = await Promise.all(
    (files ?? (await findTestFiles(folder))).map(async file => ({
      file,
      text: await readText(folder, file),
    })),
  )
  const counted = texts.map(({ file, text }) => countAssertions(file, text)).filter(one => one !== null)
  // ava and vitest count a test that is expected to fail, and does, as passed.
  const hidden = texts
    .filter(({ text }) => reports.some(({ runner }) => HIDES_FAILING.get(runner)?.test(text)))
    .reduce((sum, { file, text }) => sum + countFailingByDesign(file, text), 0)
  const byDesign = Math.min(hidden, number('passed'))
  return {
    tests: cases.length,
    passed: number('passed') - byDesign,
    failed: number('failed'),
    skipped: number('skipped'),
    todo: number('todo'),
    failingByDesign: number('failing-by-design') + byDesign,
    assertions: counted.length === 0 ? null : counted.reduce((sum, one) => sum + one, 0),
    files,
  }
}

const HIDES_FAILING = new Map<string, RegExp>([
  ['ava', /\bava\b/],
  // With `globals` a file need not name it.
  ['vitest', /(?:)/],
])

/** Relative to the folder, and only what is in it. */
async function existing(folder: string, files: readonly string[]): Promise<string[]> {
  const inFolder = new Set<string>()
  for (const file of new Set(files)) {
    const relative = path.relative(folder, path.resolve(folder, file))
    if (relative === '' || relative.startsWith('..') || path.isAbsolute(relative)) continue
    inFolder.add(relative)
  }
  const known = await Promise.all(
    [...inFolder].map(async file => ((await isFile(path.join(folder, file))) ? [file] : [])),
  )
  return known.flat().sort()
}

async function isFile(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  )
}

/** All that was printed, up to what a report may have. */
class KeptOutput {
  isCut = false
  readonly #chunks: Buffer[] = []
  #bytes = 0

  add(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.isCut ||= this.#bytes > MAX_OUTPUT_BYTES
    if (this.isCut) this.#chunks.length = 0
    else this.#chunks.push(chunk)
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8')
  }
}

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024
