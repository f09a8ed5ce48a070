// `npm test`: all checks from a fresh clone, with one line of totals at the end. `npm test --
// --filter=@chirality/core` runs them for the packages that turbo's filter selects. `--force` also runs the tests of
// packages that passed and that nothing they read has changed for.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { systemBubblewrap } from './bubblewrap.mjs'
import { passedBefore } from './passed-before.mjs'
import { installPublished } from './published-agents.mjs'
import { packagesWith, root, run, say, setup, turbo } from './setup.mjs'

const started = performance.now()
const { values: args } = parseArgs({
  options: {
    filter: { type: 'string', multiple: true, default: [] },
    force: { type: 'boolean', default: process.env.CI !== undefined },
  },
})
const filters = args.filter.map(filter => `--filter=${filter}`)
// The last line is printed on every exit, even when nothing was counted yet.
const totals = { passed: 0, failed: 1 }
process.on('exit', () => process.stdout.write(`${totals.passed} passed, ${totals.failed} failed\n`))
await setup()
if (process.env.CHIRALITY_TEST_ALL) await installPublished()

const folders = testedFolders()
const results = folders.map(resultsOf)
const passed = passedBefore(
  new Map(packageFolders().map(folder => [nameOf(folder), path.relative(root, folder)])),
  Object.entries(process.env).filter(([name]) => /^(CHIRALITY_|TMPDIR$)/.test(name)),
)
const known = folders.filter(
  folder => !args.force && passed.has(path.relative(root, folder)) && existsSync(resultsOf(folder)),
)
const tested = folders.filter(folder => !known.includes(folder))
for (const folder of tested) {
  rmSync(resultsOf(folder), { force: true })
  passed.forget(path.relative(root, folder))
}

// The tests of Codex show what its commands may do, and that depends on the sandbox they run in.
if (process.platform === 'linux')
  say(`Codex's commands run in ${systemBubblewrap() ?? 'the bubblewrap that it brings'}`)
const TESTS = 'Running the tests'
/** More failures than this are not caused by chance. */
const MOST_AGAIN = 6
const broken = []
// The tests of the two apps run what is built. Packages are built one after the other, which leaves a core to these checks.
await Promise.all([
  check('Building', () => turbo(['build', ...filters])),
  check('Checking format and lint', () => run('biome', ['check', '.'])),
  check('Checking package boundaries', () => run(process.execPath, ['.scripts/check-boundaries.mjs'])),
  check('Looking for what nothing uses', () =>
    run('knip', ['--config', '.knip.json', '--no-config-hints', '--no-progress']),
  ),
])
await Promise.all([check(TESTS, runTests), check('Checking types', checkTypes)])

// A repeated file overwrites the report of its package, so the reports are read first.
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
  // A file that cannot be loaded has no tests; it counts as a failure.
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
if (flaky.size > 0 && process.env.CHIRALITY_FLAKY_FAILS) {
  totals.failed += flaky.size
  say('CHIRALITY_FLAKY_FAILS is set, so each file that passed only when it ran again alone is a failure.')
}
if (known.length > 0)
  say(
    `Not run again, because nothing that they read has changed (--force runs them): ${known.map(nameOf).join(', ')}`,
  )
for (const title of broken) {
  // A failed test run is counted by its tests, if it has any results.
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
 * Beside the tests, which wait for agents and disks as much as they compute. `--only`, because a build would restore files
 * that tests run, and `--force`, because the key of turbo's cache is then without the packages that a package uses.
 * Without tests the cache serves.
 */
function checkTypes() {
  const beside = tested.length > 0 ? ['--only', '--force', '--concurrency=1'] : []
  return turbo(['typecheck', ...beside, ...filters])
}

/**
 * Runs three packages at a time. Whoever is free takes the largest package that is left, so that no lane works alone at
 * the end. `--only`: everything is built, and no lane may rebuild files that another reads.
 */
async function runTests() {
  // Several packages start a browser at the same time, and it has to be unpacked once.
  const browser = await run(process.execPath, ['.scripts/find-browser.mjs'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const left = tested.toSorted((a, b) => wholeTests(b) - wholeTests(a))
  let code = browser
  const lane = async () => {
    for (let folder = left.shift(); folder; folder = left.shift()) {
      const ended = await turbo(['test', '--only', `--filter=${nameOf(folder)}`], { logs: 'full' })
      if (ended === 0 && existsSync(resultsOf(folder))) passed.remember(path.relative(root, folder))
      code = ended || code
    }
  }
  await Promise.all([lane(), lane(), lane()])
  return code
}

/** How many files of a package start whole programs. The other tests take no time in comparison. */
function wholeTests(folder) {
  return readdirSync(path.join(folder, 'test'), { recursive: true }).filter(file => file.endsWith('.test.ts'))
    .length
}

/**
 * Runs up to six failed files again, alone and in sequence: a race on a busy machine must not hide the result of
 * 8,000 other tests. Returns how many failed tests of each file pass now. A file that fails again, or cannot be loaded,
 * is not included: all its failures count.
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

/** A CI shows the end of a long log, so the failures are repeated there with the first lines of their reason. */
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

/** Every workspace package has tests; a package without a report has failed. */
function testedFolders() {
  const named = packagesWith('test', filters)
  if (named.length === 0) {
    say(`No package matches ${filters.join(' ')}`)
    process.exit(1)
  }
  return packageFolders().filter(folder => named.includes(nameOf(folder)))
}

function resultsOf(folder) {
  return path.join(folder, '.test-results.json')
}

function packageFolders() {
  const groups = ['packages', 'apps'].flatMap(group =>
    readdirSync(path.join(root, group)).map(name => path.join(root, group, name)),
  )
  return [...groups, path.join(root, 'fixtures')].filter(folder =>
    existsSync(path.join(folder, 'package.json')),
  )
}

function nameOf(folder) {
  return readJson(path.join(folder, 'package.json')).name
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}
