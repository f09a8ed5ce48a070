import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type FileLines, lostLines } from '../../src/proof/changed-lines.ts'
import { wordsOf } from '../../src/proof/check-words.ts'
import { withJudgingPart } from '../../src/proof/judging-part.ts'
import { findMatter, type MatterFacts } from '../../src/proof/matter.ts'
import { watchReads } from '../../src/proof/opened-files.ts'

async function matterOf(
  changed: string,
  checks: string[],
  { texts = {}, ...facts }: Partial<MatterFacts> & { texts?: Record<string, string> } = {},
) {
  const files = changed.split(' ').map(word => ({ status: word.charAt(0), path: word.slice(2) }))
  const { tests, means, unknown } = await findMatter({
    ...{ files, commands: checks, prefix: '', listed: [], inBase: ['a', 'src/a'] },
    read: files.map(({ path: file }) => file),
    show: async (at, file) => texts[`${at}:${file}`],
    ...facts,
  })
  return { tests, means, unknown }
}

const nothing = { tests: [], means: [], unknown: [] }

test.each([
  ['M:check.sh', 'sh check.sh', 'means'],
  ['A:made.txt', 'test -f made.txt && sh made.txt', 'means'],
  ['M:verify.mjs', 'node ./verify.mjs', 'means'],
  ['M:ci/run', './ci/run --all', 'means'],
  ['A:ava.config.js', 'npx ava', 'means'],
  ['A:.mocharc.yml', 'npx mocha', 'means'],
  ['A:vitest.workspace.ts', 'npx vitest run', 'means'],
  ['A:conftest.py', 'pytest', 'tests'],
  ['A:pytest.py', 'python -m pytest', 'unknown'],
  ['M:src/__snapshots__/a.snap', 'npx vitest run', 'tests'],
  ['M:pkg/sum_test.go', 'go test ./...', 'tests'],
  ['M:app/SumTest.java', 'mvn test', 'tests'],
  ['A:.npmrc', 'npm test', 'means'],
  ['M:.gitattributes', 'npm test', 'means'],
  ['A:data.bin', 'npm test', 'unknown'],
])('%s with `%s` judges', async (changed, check, as) => {
  expect(await matterOf(changed, [check])).toEqual({ ...nothing, [as]: [changed.slice(2)] })
})

test.each([
  ...['test -f made.txt', '[ -s made.txt ]', "[[ -e './made.txt' ]]", 'grep -q one made.txt'],
  ...[
    "grep -E 'a|b;c' made.txt && ! grep -q two ./made.txt",
    'cat *.txt | wc -l',
    'node x.js && test -f made.txt',
  ],
])('a file that `%s` only looks into is what the task makes', async check => {
  expect(await matterOf('A:made.txt', [check])).toEqual(nothing)
})

test('code is the work itself, and a file that no check read decides nothing', async () => {
  expect(await matterOf('M:src/a.ts M:index.js A:src/b.ts D:src/c.py', ['npm test'])).toEqual(nothing)
  expect(
    await matterOf('A:eslint.config.js M:scripts/release.sh A:x.dat', ['npm test'], { read: [] }),
  ).toEqual(nothing)
  // A new folder of code that no check knew before may be what a runner loads by itself.
  expect(await matterOf('A:hooks2/load.js', ['npm test'])).toEqual({
    ...nothing,
    unknown: ['hooks2/load.js'],
  })
  // Where reads are not known, all but pages of text count as read.
  expect(await matterOf('A:x.dat M:README.md', ['npm test'], { read: null })).toEqual({
    ...nothing,
    unknown: ['x.dat'],
  })
})

test('files of the list of the runner are tests, also below a prefix', async () => {
  const facts = { prefix: 'web', listed: ['checks/one.js'] }
  expect(await matterOf('M:web/checks/one.js', ['npm test'], facts)).toMatchObject({
    tests: ['web/checks/one.js'],
  })
})

test('scripts of a package.json count as far as a check runs them', () => {
  const scripts = {
    test: 'npm run lint && ava',
    lint: 'xo lib/rules.js',
    pretest: 'node prepare.js',
    start: 'node .',
  }
  expect(wordsOf(['npm test'], scripts)).toMatchObject({
    scripts: ['lint', 'pretest', 'test'],
    named: expect.arrayContaining(['prepare.js', 'lib/rules.js']),
  })
  expect(wordsOf(['ava'], scripts).scripts).toEqual([])
  expect(wordsOf(['CI=1 pnpm run "test"; ! yarn lint'], scripts).scripts).toEqual(['lint', 'pretest', 'test'])
})

test('of a package.json the parts that judge are put back, and dependencies stay as they are', () => {
  const base = {
    scripts: { test: 'ava', start: 'x' },
    devDependencies: { ava: '^6' },
    ava: { files: ['test/*'] },
  }
  const put = (now: object) =>
    withJudgingPart('a/package.json', JSON.stringify(base), JSON.stringify(now), new Set(['test']))
  expect(put({ ...base, version: '2.0.0', dependencies: { a: '1' }, exports: './x.js' })).toBeNull()
  expect(put({ ...base, scripts: { ...base.scripts, start: 'y', build: 'z' } })).toBeNull()
  for (const now of [
    { ...base, ava: { files: ['test/one.js'] } },
    { ...base, scripts: { ...base.scripts, test: 'ava || true' } },
    { ...base, devDependencies: { ava: 'file:./fake' } },
  ])
    expect(JSON.parse(put({ ...now, dependencies: { a: '1' } }) ?? '{}')).toEqual({
      ...base,
      dependencies: { a: '1' },
    })
  const toml = '[project]\nname = "a"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n'
  const narrowed = toml.replace('-q', '-k one').replace('"a"', '"b"')
  const back = withJudgingPart('pyproject.toml', toml, narrowed, new Set())
  expect(back).toContain('addopts = "-q"')
  expect(back).toContain('name = "b"')
  expect(withJudgingPart('pyproject.toml', toml, toml.replace('"a"', '"b"'), new Set())).toBeNull()
})

test('a line of a test that was moved is not lost; one that says less is', () => {
  const file = (path_: string, removed: string[], added: string[]): FileLines => ({
    ...{ status: 'M', path: path_, removed, added, addedAt: [] },
  })
  expect(
    lostLines([
      file('test/a.js', ["import a from '../a.js'", '  t.is(a(), 1)', '})', '// why'], []),
      file(
        'test/b.js',
        ["const text = read('test/old/a.json')"],
        ['t.is(a(), 1);', "const text = read('test/new/a.json')"],
      ),
    ]),
  ).toEqual([])
  expect(
    lostLines([file('test/a.js', ['t.is(a(), 1)', 't.is(a(), 1)'], ['t.is(a(), 1)', 't.pass()'])]),
  ).toEqual([{ path: 'test/a.js', lines: ['t.is(a(), 1)'] }])
})

test('which files were read is seen, and nothing else of them changes', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'chirality-reads-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['read.txt', 'left.txt', 'removed.txt']) writeFileSync(path.join(folder, name), name)
  const seen = await watchReads(folder, ['read.txt', 'left.txt', 'removed.txt', 'never.txt'])
  readFileSync(path.join(folder, 'read.txt'))
  rmSync(path.join(folder, 'removed.txt'))
  // Null where the file system notes no reads.
  expect([['read.txt', 'removed.txt'], null]).toContainEqual(await seen())
})
