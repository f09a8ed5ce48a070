// `npm test`: everything that has to hold, from a fresh clone, with one line at the end that counts it.
// `npm test -- --filter=@chirality/core`: the same for the packages that turbo's filter names.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { packagesWith, root, run, say, setup, turbo } from './setup.mjs'

const started = performance.now()
const { values: args } = parseArgs({ options: { filter: { type: 'string', multiple: true, default: [] } } })
const filters = args.filter.map(filter => `--filter=${filter}`)
// The last line is promised on every way out, also when there is nothing to count yet.
const totals = { passed: 0, failed: 1 }
process.on('exit', () => process.stdout.write(`${totals.passed} passed, ${totals.failed} failed\n`))
await setup()

const results = testedFolders().map(folder => path.join(folder, '.test-results.json'))
for (const file of results) rmSync(file, { force: true })

const TESTS = 'Running the tests'
/** More failures than these are no chance. */
const MOST_AGAIN = 3
const broken = []
await Promise.all([
  check('Checking format and lint', () => run('biome', ['check', '.'])),
  check('Checking package boundaries', () => run(process.execPath, ['.scripts/check-boundaries.mjs'])),
  check('Looking for what nothing uses', () =>
    run('knip', ['--config', '.knip.json', '--no-config-hints', '--no-progress']),
  ),
  check('Building and checking types', () => turbo(['build', 'typecheck', ...filters])),
  // Before the tests: several of them open a browser at the same moment.
  check('Finding a browser', () =>
    run(process.execPath, ['.scripts/find-browser.mjs'], { stdio: ['ignore', 'ignore', 'inherit'] }),
  ),
])
await check(TESTS, runTests)

// A file that runs again overwrites the report of its package.
const reports = new Map(results.filter(file => existsSync(file)).map(file => [file, readJson(file)]))
const flaky = await runFailedAgain()
totals.failed = 0
for (const file of results) {
  const report = reports.get(file)
  if (!report) {
    totals.failed += 1
    say(`${path.relative(root, path.dirname(file))} reported no tests`)
    continue
  }
  totals.passed += report.numPassedTests
  totals.failed += report.numFailedTests
  // A file that cannot be loaded counts no test at all; it must not look like success.
  totals.failed += report.testResults.filter(
    suite => suite.status === 'failed' && suite.assertionResults.length === 0,
  ).length
  for (const suite of report.testResults) {
    sayFailures(suite)
    const passed = flaky.get(suite.name) ?? 0
    totals.passed += passed
    totals.failed -= passed
    if (passed > 0)
      say(
        `${path.relative(root, suite.name)}: passed when it ran again alone. Counted as passed, and a race to mend.`,
      )
  }
  const skipped = report.numPendingTests + report.numTodoTests
  if (skipped > 0) {
    totals.failed += skipped
    say(`${path.relative(root, path.dirname(file))}: ${skipped} skipped, which counts as failed`)
  }
}
for (const title of broken) {
  // A run of tests that broke is counted by its tests, if it came that far.
  if (title === TESTS && totals.failed === 0 && flaky.size > 0) continue
  say(`Failed: ${title}`)
  if (title !== TESTS || totals.failed === 0) totals.failed += 1
}
say(`${((performance.now() - started) / 1000).toFixed(0)} s`)
process.exitCode = totals.failed > 0 ? 1 : 0

async function check(title, step) {
  say(title)
  if ((await step()) !== 0) broken.push(title)
}

/**
 * Two packages at a time, because tests wait for agents and disks as much as they compute. Those of the runner take as long as
 * all others together: they begin at once, and the others one after the other beside them. All is built by now; neither lane may
 * put the same files in place again while the other one reads them, hence `--only`.
 */
async function runTests() {
  const lanes =
    filters.length > 0 ? [filters] : [['--filter=@chirality/runner'], ['--filter=!@chirality/runner']]
  const test = ['test', '--only', '--concurrency=1', '--continue']
  const codes = await Promise.all(lanes.map(lane => turbo([...test, ...lane], { logs: 'full' })))
  return codes.find(code => code !== 0) ?? 0
}

/**
 * Up to three files that failed run again, alone, one after the other: a race that only a busy machine loses must not hide what
 * 8,000 other tests say. Answers how many failed tests of each file have passed now. A file with a test that fails again, or that
 * cannot be loaded, is not in the answer: all its failures count.
 */
async function runFailedAgain() {
  const failed = [...reports].flatMap(([file, { testResults }]) =>
    testResults
      .filter(suite => suite.status === 'failed' && suite.assertionResults.length > 0)
      .map(suite => ({ file, suite })),
  )
  const passed = new Map()
  if (failed.length > MOST_AGAIN) return passed
  for (const { file, suite } of failed) {
    say(`Running again, alone: ${path.relative(root, suite.name)}`)
    const folder = path.dirname(file)
    rmSync(file, { force: true })
    const code = await run('vitest', ['run', path.relative(folder, suite.name)], { cwd: folder })
    const isWhole = existsSync(file) && readJson(file).numPassedTests >= suite.assertionResults.length
    const count = suite.assertionResults.filter(test => test.status === 'failed').length
    if (code === 0 && isWhole) passed.set(suite.name, count)
  }
  return passed
}

/** The end of a long log is what a CI shows: what failed is said there again, with the first lines of the reason. */
function sayFailures(suite) {
  const file = path.relative(root, suite.name)
  const failed = suite.assertionResults.filter(test => test.status === 'failed')
  if (suite.status === 'failed' && failed.length === 0) say(`${file}: ${firstLines(suite.message)}`)
  for (const test of failed) say(`${file} > ${test.fullName}: ${firstLines(test.failureMessages.join('\n'))}`)
}

function firstLines(message) {
  return stripVTControlCharacters(message ?? '')
    .split('\n')
    .slice(0, 12)
    .join('\n  ')
    .slice(0, 2000)
}

/** Every workspace package has tests; one that reports none has failed. */
function testedFolders() {
  const named = packagesWith('test', filters)
  if (named.length === 0) {
    say(`No package matches ${filters.join(' ')}`)
    process.exit(1)
  }
  return packageFolders().filter(folder => named.includes(readJson(path.join(folder, 'package.json')).name))
}

function packageFolders() {
  const groups = ['packages', 'apps'].flatMap(group =>
    readdirSync(path.join(root, group)).map(name => path.join(root, group, name)),
  )
  return [...groups, path.join(root, 'fixtures')].filter(folder =>
    existsSync(path.join(folder, 'package.json')),
  )
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}
