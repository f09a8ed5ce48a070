import { execFileSync } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { deflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { gitIn, replaceIn, runLoop, wordOf, writer } from '../support/run-loop.ts'

const SLOW = { timeout: 300_000 }
const SUM = 'export const sum = (a, b) => a + b\n'
const SUM_TEST =
  "import assert from 'node:assert/strict'\nimport { test } from 'node:test'\nimport { sum } from '../src/sum.js'\ntest('sum', () => assert.equal(sum(1, 2), 3))\n"
const EASY_TEST = SUM_TEST.replace('sum(1, 2), 3', 'sum(1, 2), 0')
const FILES = {
  '.gitignore': 'node_modules/\n',
  'package.json': '{ "type": "module" }\n',
  'src/sum.js': SUM,
  'test/sum.test.js': SUM_TEST,
}
const ask = (folder: string, ...args: string[]) =>
  execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim()
/** The worktree of the loop's branch. */
const branchOf = (folder: string) =>
  ask(folder, 'worktree', 'list', '--porcelain')
    .split('\n')
    .filter(line => line.startsWith('worktree '))
    .map(line => line.slice(9))
    .find(at => at.includes('/loop-')) ?? ''
const breakIt = (folder: string) => writer(folder)('src/sum.js', 'export const sum = () => 0\n')

/** What git shows nothing of: each would make the checks hold, or the tests of the base. */
const HIDDEN: Record<string, { work: (folder: string) => void; words: RegExp }> = {
  'configuration in a folder above': {
    work: folder => {
      replaceIn(folder, 'src/sum.js', 'a + b', 'b + a')
      writeFileSync(path.join(folder, '..', '.mocharc.json'), '{}')
    },
    words: /outside of the project/,
  },
  "a file that git ignores in the worktree of the loop's branch": {
    work: folder => {
      replaceIn(folder, 'src/sum.js', 'a + b', 'b + a')
      writeFileSync(path.join(branchOf(folder), 'ava.config.js'), 'export default {}\n')
    },
    words: /in the worktree of the loop's branch/,
  },
  "a dependency in the worktree of the loop's branch": {
    work: folder => {
      replaceIn(folder, 'src/sum.js', 'a + b', 'b + a')
      writeFileSync(path.join(branchOf(folder), 'node_modules/easy/index.js'), 'process.exit(0)\n')
    },
    words: /in the worktree of the loop's branch/,
  },
  "a file that is hidden from git in the worktree of the loop's branch": {
    work: folder => {
      replaceIn(folder, 'src/sum.js', 'a + b', 'b + a')
      gitIn(branchOf(folder), 'update-index', '--skip-worktree', 'package.json')
    },
    words: /hidden from git/,
  },
  'a link out of the project': {
    work: folder => symlinkSync('/etc/hosts', path.join(folder, 'src/hosts.js')),
    words: /lead out of the project/,
  },
  'a text of the store that is not what its hash says': {
    work: folder => {
      breakIt(folder)
      const id = ask(folder, 'rev-parse', 'HEAD:test/sum.test.js')
      const store = path.resolve(folder, ask(folder, 'rev-parse', '--git-common-dir'), 'objects')
      const at = path.join(store, id.slice(0, 2), id.slice(2))
      execFileSync('chmod', ['u+w', at])
      writeFileSync(at, deflateSync(`blob ${EASY_TEST.length}\0${EASY_TEST}`))
      writer(folder)('test/sum.test.js', EASY_TEST)
    },
    words: /other texts for files than their hashes say/,
  },
  'a test that git replaces': {
    work: folder => {
      breakIt(folder)
      writer(folder)('test/sum.test.js', EASY_TEST)
      const easy = ask(folder, 'hash-object', '-w', 'test/sum.test.js')
      gitIn(folder, 'replace', ask(folder, 'rev-parse', 'HEAD:test/sum.test.js'), easy)
    },
    words: /With the tests of the base/,
  },
  'a history that was cut off': {
    work: folder => {
      replaceIn(folder, 'src/sum.js', 'a + b', 'b + a')
      const common = path.resolve(folder, ask(folder, 'rev-parse', '--git-common-dir'))
      writeFileSync(path.join(common, 'shallow'), `${ask(folder, 'rev-parse', 'HEAD')}\n`)
    },
    words: /Git was made to show another history/,
  },
  'code that git ignores in all worktrees': {
    work: folder => {
      writer(folder)('.gitignore', 'node_modules/\nsrc/fast.js\n')
      for (const at of [folder, branchOf(folder)])
        writer(at)('src/fast.js', 'export const sum = (a, b) => a + b\n')
      writer(folder)('src/sum.js', "export * from './fast.js'\n")
    },
    words: /in the worktree of the loop's branch/,
  },
  'a test of the same size and time': {
    work: folder => {
      breakIt(folder)
      gitIn(folder, 'config', 'core.checkStat', 'minimal')
      gitIn(folder, 'config', 'core.trustctime', 'false')
      const sh =
        'touch -r test/sum.test.js ../time; sed -i "s/2), 3/2), 0/" test/sum.test.js; touch -r ../time test/sum.test.js'
      execFileSync('sh', ['-c', sh], { cwd: folder })
    },
    words: /With the tests of the base/,
  },
}

test.each(Object.entries(HIDDEN))('%s is named', SLOW, async (_, { work, words }) => {
  const { run } = await runLoop({
    front:
      'checks: node --test test/*.test.js\nmax_attempts: 1\nsetup: mkdir -p node_modules/easy && echo 1 > node_modules/easy/index.js',
    files: FILES,
    works: { Cheats: work },
  })
  const { state } = await run()
  expect(wordOf(state, 'Cheats')).toMatchObject({
    ...{
      word: 'look',
      flags: expect.arrayContaining([expect.objectContaining({ words: expect.stringMatching(words) })]),
    },
  })
})

test('checks run once more with what judges as in the base only where that was changed', SLOW, async () => {
  const { run, project } = await runLoop({
    front: `checks: echo "$(pwd)" >> "$(git rev-parse --git-common-dir)/runs"; node --test test/*.test.js`,
    files: FILES,
    works: {
      'Changes code alone': folder => replaceIn(folder, 'src/sum.js', 'a + b', 'b + a'),
      'Changes a test': folder => writer(folder)('test/sum.test.js', SUM_TEST.replace("'sum'", "'the sum'")),
    },
  })
  const { state } = await run()
  const [first, second] = [...state.tasks.values()]
  expect(first?.proof?.judged).toEqual({ kind: 'same' })
  expect(second?.proof?.judged).toMatchObject({ kind: 'ran', putBack: ['test/sum.test.js'] })
  const runs = readFileSync(path.join(project, '.git/runs'), 'utf8').trim().split('\n')
  // On the base; then on the tree of each task and merged, and for the second with the tests of the base as well.
  expect(runs).toHaveLength(1 + 2 + 3)
  expect(runs.filter(folder => folder.includes(`${path.sep}judging${path.sep}`))).toHaveLength(1)
})
