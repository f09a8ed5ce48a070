import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { VERDICT_WORDS } from '@chirality/core'
import { expect, onTestFinished, test } from 'vitest'
import { verdictOf } from '../../src/index.ts'
import { runLoop, wordOf, writer } from '../support/run-loop.ts'

const SLOW = { timeout: 300_000 }
const says =
  (name: string, text = 'x\n') =>
  (folder: string) =>
    writer(folder)(name, text)

test('a check whose program is missing ends the loop before an agent is asked', SLOW, async () => {
  const tool = path.join(realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-tool-'))), 'tool')
  onTestFinished(() => rmSync(path.dirname(tool), { recursive: true, force: true }))
  const { run, agent, book, host } = await runLoop({
    front: `checks: ${tool} --all`,
    files: { 'README.md': 'x\n' },
    works: { One: says('one.txt') },
  })
  const { end, state, loopId } = await run()
  expect(end.reason).toBe('failed')
  expect(end.why).toContain(tool)
  expect(end.why).toContain('setup:')
  expect([agent.turns, state.tasks.size]).toEqual([0, 0])
  // As soon as it is there, the same loop goes on.
  writeFileSync(tool, '#!/bin/sh\nexit 0\n', { mode: 0o755 })
  expect((await (await book.resume(host, loopId)).run()).reason).toBe('done')
  expect(agent.turns).toBe(1)
})

test('a package that the project names and that is not installed is missing, too', SLOW, async () => {
  const { run, agent } = await runLoop({
    front: 'checks: node check.mjs',
    files: {
      'package.json': '{ "devDependencies": { "left-pad-runner": "1" } }',
      'check.mjs': "import 'left-pad-runner'\n",
    },
    works: { One: says('one.txt') },
  })
  const { end } = await run()
  expect([end.reason, agent.turns]).toEqual(['failed', 0])
  expect(end.why).toContain('left-pad-runner')
})

test(
  'a file of the project that a check runs and that is not there yet is what the task makes',
  SLOW,
  async () => {
    const { run } = await runLoop({
      front: 'max_attempts: 1',
      files: { 'README.md': 'x\n' },
      works: { One: says('hello.sh', 'exit 0\n') },
      keys: { One: ['checks: sh ./hello.sh && test -f hello.sh'] },
    })
    const { state } = await run()
    expect(wordOf(state, 'One').task).toMatchObject({ status: 'merged', proof: { base: [{ state: 'red' }] } })
  },
)

test(
  'what is red before is not held against a task, and does not prove it; what turns green does',
  SLOW,
  async () => {
    const { run } = await runLoop({
      front: 'checks: test ! -f broken.txt',
      files: { 'broken.txt': 'x\n' },
      works: {
        'Leaves it': says('one.txt'),
        'Mends it': folder => {
          writer(folder)('two.txt', 'x\n')
          writeFileSync(path.join(folder, 'mended.txt'), 'x\n')
        },
        'Is wrong': says('three.txt'),
      },
      keys: { 'Mends it': ['checks: test -f two.txt'], 'Is wrong': ['checks: test -f four.txt'] },
    })
    const { state, end } = await run()
    expect(wordOf(state, 'Leaves it')).toMatchObject({ word: 'no-check', kinds: ['base-not-green'] })
    expect(wordOf(state, 'Mends it')).toMatchObject({ word: 'look', kinds: ['base-not-green'] })
    // A check that only one task has is what it has to make true.
    expect(wordOf(state, 'Is wrong').task).toMatchObject({ status: 'failed' })
    expect(end.reason).toBe('blocked')
  },
)

test('a check that does not say the same twice is told from one that is red', SLOW, async () => {
  const count = 'n=$(cat .git-count 2>/dev/null || echo 0); echo $((n+1)) > .git-count; test $((n % 2)) = 1'
  const { run } = await runLoop({
    front: `checks: "${count}"`,
    files: { '.gitignore': '.git-count\n' },
    works: { One: says('one.txt') },
  })
  const { state } = await run()
  const { task, word, kinds } = wordOf(state, 'One')
  expect(task?.proof?.base).toMatchObject([{ state: 'flaky' }])
  expect([task?.status, word, kinds]).toEqual(['merged', 'look', ['base-not-green']])
})

test('a list without checks never says proved', SLOW, async () => {
  const { run, book } = await runLoop({
    ...{ front: 'parallel: 1', files: { 'README.md': 'x\n' } },
    works: { One: says('one.txt') },
  })
  const { state, end, loopId } = await run()
  const task = wordOf(state, 'One').task
  expect(verdictOf({ status: 'merged', ...(task?.proof && { proof: task.proof }) })).toEqual({
    word: 'no-check',
    flags: [],
  })
  expect(end.why).not.toContain('is proved')
  const report = readFileSync(path.join(book.folder(loopId), 'report.md'), 'utf8')
  expect(report).toContain('0 proved · 1 changed, no check')
  expect(report).toContain('## Changed, no check')
  expect(report).not.toContain('## Proved\n')
  expect(VERDICT_WORDS['no-check']).toBe('changed, no check')
})

test("the user's set-up of worktrees is done for the base and the loop's branch as well", SLOW, async () => {
  const { run, host, project } = await runLoop({
    front: 'checks: node_modules/.bin/tool && test "$PLACE" = here',
    files: { '.gitignore': 'node_modules/\n' },
    works: { One: says('one.txt'), Two: says('two.txt') },
  })
  mkdirSync(path.join(project, 'node_modules/.bin'), { recursive: true })
  writeFileSync(path.join(project, 'node_modules/.bin/tool'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
  await host.ownSetups.set(project, { share: ['node_modules'], variables: { PLACE: 'here' } })
  const { state, end } = await run()
  expect(end.reason).toBe('done')
  expect([wordOf(state, 'One').word, wordOf(state, 'Two').word]).toEqual(['proved', 'proved'])
})

test('the base is asked once: neither the next task nor a resume repeats it', SLOW, async () => {
  const { run, book, host } = await runLoop({
    front: 'checks: test -d .',
    files: { 'README.md': 'x\n' },
    works: { One: says('one.txt'), Two: says('two.txt') },
  })
  const { loopId } = await run()
  const checked = async () => (await book.entries(loopId)).filter(({ type }) => type === 'base:checked')
  // The base of the first task, and what each merge said: that is the base of those after it.
  expect(await checked()).toHaveLength(3)
  await (await book.resume(host, loopId)).run()
  expect(await checked()).toHaveLength(3)
})

test('two attempts that fail alike end a task, whatever the check prints', SLOW, async () => {
  const { run, agent } = await runLoop({
    front: 'max_attempts: 5',
    files: { 'README.md': 'x\n' },
    works: { One: says('one.txt', 'wrong\n') },
    keys: { One: ['checks: date +%N; od -An -N8 -tx8 /dev/urandom; grep -q right one.txt'] },
  })
  const { state } = await run()
  expect(wordOf(state, 'One').task).toMatchObject({ status: 'failed', iterations: 2 })
  expect(agent.turns).toBe(2)
})
