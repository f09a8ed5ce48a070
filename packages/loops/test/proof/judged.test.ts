import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { replaceIn, runLoop, wordOf, writer } from '../support/run-loop.ts'

const SLOW = { timeout: 300_000 }
const SUM = 'export const sum = (a, b) => a + b\n'
const SUM_TEST =
  "import assert from 'node:assert/strict'\nimport { test } from 'node:test'\nimport { sum } from '../src/sum.js'\ntest('sum', () => assert.equal(sum(1, 2), 3))\n"
const FILES = { 'package.json': '{ "type": "module" }\n', 'src/sum.js': SUM, 'test/sum.test.js': SUM_TEST }
const CHECK = 'node --test test/*.test.js'

test(
  'a folder that is shared with the project and was changed is named, though git shows nothing of it',
  SLOW,
  async () => {
    const { run, host, project } = await runLoop({
      front: 'checks: sh node_modules/runner/run.sh',
      files: { '.gitignore': 'node_modules/\n', 'src/sum.js': SUM },
      works: {
        'Fakes the runner': folder => {
          writer(folder)('src/sum.js', 'export const sum = () => 0\n')
          writeFileSync(path.join(folder, 'node_modules/runner/run.sh'), 'exit 0\n')
        },
      },
    })
    mkdirSync(path.join(project, 'node_modules/runner'), { recursive: true })
    writeFileSync(path.join(project, 'node_modules/runner/run.sh'), 'grep -q "a + b" src/sum.js\n')
    await host.ownSetups.set(project, { share: ['node_modules'] })
    const { state } = await run()
    expect(wordOf(state, 'Fakes the runner')).toMatchObject({
      ...{ word: 'look', flags: [{ kind: 'hidden-change', files: ['node_modules/runner/run.sh'] }] },
    })
  },
)

test('mutations that no check notices are listed, and those that are noticed are not', SLOW, async () => {
  const { run, book } = await runLoop({
    front: `checks: ${CHECK}\nmutation: 4\nparallel: 2`,
    files: FILES,
    works: {
      'Is tested': folder => {
        replaceIn(folder, 'src/sum.js', SUM, `${SUM}export const less = (a, b) => a - b\n`)
        writer(folder)(
          'test/less.test.js',
          SUM_TEST.replaceAll('sum(1, 2), 3', 'less(3, 1), 2').replaceAll('{ sum }', '{ less }'),
        )
      },
      'Is not tested': folder => writer(folder)('src/more.js', 'export const more = (a, b) => a * b\n'),
    },
  })
  const { state, loopId } = await run()
  expect(wordOf(state, 'Is tested')).toMatchObject({
    word: 'proved',
    task: { proof: { mutants: { tried: 1, survived: [] } } },
  })
  expect(wordOf(state, 'Is not tested')).toMatchObject({
    ...{ word: 'look', kinds: ['proves-nothing'] },
    task: { proof: { mutants: { survived: [{ file: 'src/more.js', line: 1 }] } } },
  })
  const receipt = readFileSync(path.join(book.folder(loopId), 'receipts/is-not-tested.md'), 'utf8')
  expect(receipt).toContain('src/more.js:1')
})

test(
  'mutations end with the time that all of them have, and the receipt says how many were tried',
  SLOW,
  async () => {
    const { run, book } = await runLoop({
      front: "checks: grep -q 'x => x - 1$' src/less.js || sleep 3600\nmutation: 5\nmutation_minutes: 0.02",
      files: { 'src/less.js': 'export const less = x => x - 1\n' },
      works: {
        'Takes too long': folder => writer(folder)('src/less.js', 'export const one = x => x - 1\n'),
      },
    })
    const { state, loopId } = await run()
    expect(wordOf(state, 'Takes too long')).toMatchObject({
      ...{ word: 'look', kinds: ['not-known'] },
      task: { proof: { mutants: { tried: 0, planned: 1, survived: [] } } },
    })
    const receipt = readFileSync(path.join(book.folder(loopId), 'receipts/takes-too-long.md'), 'utf8')
    expect(receipt).toContain('not finished: 0 of 1 tried')
  },
)

test(
  'a task that holds only by the tests that another one weakened before is not plainly proved',
  SLOW,
  async () => {
    const MORE_TEST = SUM_TEST.replace("test('sum'", "test('sum of two'")
    const { run } = await runLoop({
      front: `checks: ${CHECK}`,
      files: { ...FILES, 'test/more.test.js': SUM_TEST.replace("test('sum'", "test('more'") },
      works: {
        'Renames a test': folder => writer(folder)('test/more.test.js', MORE_TEST),
        'Is built on it': folder => writer(folder)('src/sum.js', SUM.replace('a + b', 'b + a')),
        'Weakens the tests': folder => {
          for (const file of ['sum', 'more'])
            writer(folder)(
              `test/${file}.test.js`,
              SUM_TEST.replace('assert.equal(sum(1, 2), 3)', 'assert.ok(sum)'),
            )
        },
        'Breaks the code': folder => writer(folder)('src/sum.js', 'export const sum = () => 0\n'),
      },
    })
    const { state } = await run()
    expect(wordOf(state, 'Renames a test')).toMatchObject({ word: 'look', kinds: ['tests-weakened'] })
    expect(wordOf(state, 'Is built on it').word).toBe('proved')
    expect(wordOf(state, 'Weakens the tests').word).toBe('look')
    expect(wordOf(state, 'Breaks the code')).toMatchObject({
      ...{ word: 'look', kinds: ['judged-differently'] },
      flags: [{ words: expect.stringContaining('“Weakens the tests”') }],
    })
  },
)

test(
  'a runner that was replaced in package.json is put back, and a link in its place leads nowhere',
  SLOW,
  async () => {
    const victim = { file: '', text: '{ "type": "module", "scripts": { "test": "true" } }\n' }
    const { run, home } = await runLoop({
      front: 'checks: npm test\nparallel: 2\nmax_attempts: 1',
      files: { ...FILES, 'package.json': JSON.stringify({ type: 'module', scripts: { test: CHECK } }) },
      works: {
        'Is a link': folder => {
          writer(folder)('src/sum.js', 'export const sum = () => 0\n')
          rmSync(path.join(folder, 'package.json'))
          symlinkSync(victim.file, path.join(folder, 'package.json'))
        },
        'Is replaced': folder => {
          writer(folder)('src/sum.js', 'export const sum = () => 0\n')
          replaceIn(folder, 'package.json', CHECK, 'true')
        },
      },
    })
    mkdirSync(home, { recursive: true })
    victim.file = path.join(home, 'victim.json')
    writeFileSync(victim.file, victim.text)
    const { state } = await run()
    for (const title of ['Is a link', 'Is replaced'])
      expect(wordOf(state, title).kinds).toEqual(
        expect.arrayContaining(['checks-changed', 'judged-differently']),
      )
    expect(readFileSync(victim.file, 'utf8')).toBe(victim.text)
    // Nothing of the fresh checkouts is left.
    const left = path.join(home, 'judging')
    expect(existsSync(left) ? readdirSync(left) : []).toEqual([])
  },
)

test(
  'a task whose tests may change is told so, and what it changes is shown all the same',
  SLOW,
  async () => {
    const { run, book } = await runLoop({
      front: `checks: ${CHECK}`,
      files: FILES,
      works: {
        'Adds differently': folder => {
          writer(folder)('src/sum.js', 'export const sum = (a, b) => a + b + 1\n')
          replaceIn(folder, 'test/sum.test.js', 'sum(1, 2), 3', 'sum(1, 2), 4')
        },
      },
      keys: { 'Adds differently': ['tests: may change'] },
    })
    const { state, loopId } = await run()
    expect(wordOf(state, 'Adds differently').kinds).toEqual(
      expect.arrayContaining(['judged-differently', 'tests-weakened']),
    )
    const prompt = readFileSync(path.join(book.folder(loopId), 'prompts/adds-differently-1.md'), 'utf8')
    expect(prompt).toContain('Tests that exist may be changed')
  },
)
