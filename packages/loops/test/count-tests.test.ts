import { randomUUID } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runCheck } from '../src/checks.ts'
import { countTests } from '../src/proof/runners/count-tests.ts'
import { commandTextOf, detectRunner } from '../src/proof/runners/detect-runner.ts'

const LONG_MS = 600_000

function projectOf(files: Record<string, string>): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-count-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), content)
  }
  return folder
}

const count = (folder: string, check: string, env?: Record<string, string>) =>
  countTests({
    ...{ check, folder, env },
    run: (command, options) =>
      runCheck(command, { cwd: folder, timeoutMs: LONG_MS, marker: randomUUID(), ...options }),
  })

const NODE_SUITE = `import test from 'node:test'
import assert from 'node:assert'
import { sum } from '../sum.mjs'
test('adds', () => assert.equal(sum(1, 2), 3))
test('adds more', () => assert.equal(sum(2, 2), 5))
test.skip('skipped', () => assert.equal(sum(0, 0), 0))
test.todo('later')
`
const SUM = 'export const sum = (a, b) => a + b\n'

test('node:test through a script of package.json: counts, files, failing names, and the output as without a report', async () => {
  const folder = projectOf({
    'package.json': JSON.stringify({ scripts: { test: 'npm run unit', unit: 'node --test' } }),
    ...{ 'test/sum.test.mjs': NODE_SUITE, 'test/empty.test.mjs': 'void 0\n', 'sum.mjs': SUM },
  })
  const counted = await count(folder, 'npm test')
  expect(counted).toMatchObject({
    ...{ kind: 'counted', runner: 'node:test', failing: ['sum.test.mjs adds more'], result: { exitCode: 1 } },
    counts: {
      ...{ tests: 4, passed: 1, failed: 1, skipped: 1, todo: 1, failingByDesign: 0, assertions: 3 },
      files: ['test/empty.test.mjs', 'test/sum.test.mjs'],
    },
  })
  expect(counted.result.output).toContain('adds more')
  expect(counted.result.output).not.toContain('chirality-reports')
})

test.each([
  'node --test --test-reporter=dot',
  'node test/sum.test.mjs',
  'node --test && true',
  'npx -- node --test',
])('node:test run by `%s`', async check => {
  const folder = projectOf({ 'test/sum.test.mjs': NODE_SUITE, 'sum.mjs': SUM })
  expect(await count(folder, check)).toMatchObject({ kind: 'counted', counts: { tests: 4, failed: 1 } })
})

test('a file that cannot be loaded fails by a name without the folder that it is in', async () => {
  const folder = projectOf({ 'test/sum.test.mjs': "import './gone.mjs'\n" })
  expect(await count(folder, 'node --test')).toMatchObject({ failing: ['test/sum.test.mjs'] })
})

test('two runs in one check are counted together', async () => {
  const folder = projectOf({ 'test/sum.test.mjs': NODE_SUITE, 'sum.mjs': SUM })
  const counted = await count(folder, 'node --test; node --test')
  expect(counted).toMatchObject({ kind: 'counted', counts: { tests: 8 } })
})

test('a suite of files without a test counts none, though it passes', async () => {
  const folder = projectOf({ 'a.test.mjs': 'void 0\n' })
  const counted = await count(folder, 'node --test')
  expect(counted).toMatchObject({ kind: 'counted', counts: { tests: 0, passed: 0 }, result: { exitCode: 0 } })
})

test('a suite that a test starts itself is not part of the suite', async () => {
  const inner = `import test from 'node:test'
import { spawnSync } from 'node:child_process'
test('outer', () => { spawnSync(process.execPath, ['--test', 'inner/'], { stdio: 'inherit' }) })
`
  const folder = projectOf({
    ...{ 'outer.test.mjs': inner, 'inner/sum.test.mjs': NODE_SUITE, 'sum.mjs': SUM },
  })
  expect(await count(folder, 'node --test outer.test.mjs')).toMatchObject({ counts: { tests: 1, passed: 1 } })
})

test('vitest: expected failures are not passed, and its configuration stays in force', async () => {
  const folder = projectOf({
    'package.json': '{"type":"module"}',
    'vitest.config.mjs': "export default { test: { include: ['checks/*.ts'], reporters: ['verbose'] } }\n",
    'checks/a.ts': `import { expect, test } from 'vitest'
test('adds', () => expect(1 + 1).toBe(2))
test.fails('known fault', () => expect(1 + 1).toBe(3))
test.skip('skipped', () => {})
`,
    'other.test.ts': 'not even code',
  })
  symlinkSync(path.join(import.meta.dirname, '..', 'node_modules'), path.join(folder, 'node_modules'))
  expect(await count(folder, 'npx vitest run')).toMatchObject({
    ...{ kind: 'counted', runner: 'vitest', failing: [], result: { exitCode: 0 } },
    counts: {
      ...{ tests: 3, passed: 1, skipped: 1, failingByDesign: 1, assertions: 2, files: ['checks/a.ts'] },
    },
  })
})

test('a runner that is ended before its end is unreadable, and named', async () => {
  const folder = projectOf({
    'package.json': '{"type":"module"}',
    'vitest.config.mjs': 'process.exit(0)\n',
    'a.test.ts': "import { test } from 'vitest'\ntest('a', () => {})\n",
  })
  symlinkSync(path.join(import.meta.dirname, '..', 'node_modules'), path.join(folder, 'node_modules'))
  expect(await count(folder, 'npx vitest run')).toMatchObject({
    ...{ kind: 'unreadable', runner: 'vitest', result: { exitCode: 0 } },
    why: 'vitest was started and wrote no report: it was ended before its end.',
  })
})

test('a check without a runner is unreadable, with its result', async () => {
  const folder = projectOf({ 'a.txt': 'one\n' })
  expect(await count(folder, 'grep one a.txt')).toMatchObject({
    ...{ kind: 'unreadable', runner: null, result: { exitCode: 0, output: 'one\n' } },
  })
})

test('options of the user stay: NODE_OPTIONS is added to', async () => {
  const folder = projectOf({
    'hook.cjs': 'globalThis.hooked = true\n',
    'a.test.mjs':
      "import test from 'node:test'\ntest('a', () => { if (!globalThis.hooked) throw new Error('lost') })\n",
  })
  const env = { NODE_OPTIONS: `--require ${path.join(folder, 'hook.cjs')}` }
  expect(await count(folder, 'node --test', env)).toMatchObject({ counts: { passed: 1, failed: 0 } })
})

test('no report is left in the temporary folder', async () => {
  const folder = projectOf({ 'a.test.mjs': 'void 0\n' })
  const own = path.join(folder, 'tmp')
  mkdirSync(own)
  const before = process.env.TMPDIR
  process.env.TMPDIR = own
  onTestFinished(() => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  })
  await count(folder, 'node --test; exit 1')
  expect(readdirSync(own)).toEqual([])
})

test.each([
  ['npm test', { test: 'xo && ava' }, 'ava'],
  ['pnpm run -s unit', { unit: 'yarn check', check: 'vitest --run' }, 'vitest'],
  ['npm t', { pretest: 'tsc', test: 'mocha' }, 'mocha'],
  ['npm run a', { a: 'npm run b', b: 'npm run a' }, null],
  ['npx playwright test', {}, 'playwright'],
  ['node --import tsx --test', {}, 'node:test'],
  ['python -m pytest -q', {}, 'pytest'],
  ['cargo +nightly test', {}, 'cargo test'],
  ['./mvnw -q verify', {}, 'junit'],
  ['cd x && go test ./...', {}, 'go test'],
  ['test -f a.txt', {}, null],
])('`%s` runs %j: %s', async (check, scripts, runner) => {
  const folder = projectOf({ 'package.json': JSON.stringify({ scripts }) })
  const commands = await commandTextOf(check, folder)
  expect(detectRunner(commands)).toBe(runner)
  expect(commands.split('\n')).toContain(check)
})
