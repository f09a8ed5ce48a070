import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { awaitedCommands, requireAwaited } from '../src/commands.ts'
import { LoopBook } from '../src/loop-book.ts'
import { writeOwnLoop } from '../src/own-loop.ts'
import { InstantAgent } from './support/instant-agent.ts'
import { commitAll, hostWith, projectWith } from './support/loop-project.ts'

const SLOW = { timeout: 180_000 }

/** A loop whose second task has a command that nobody allowed, after its first run. */
async function loopWithParkedTask() {
  const world = projectWith('- [ ] Task 1\n  checks: test -e .\n')
  commitAll(world.project)
  const host = hostWith(world.home, new InstantAgent())
  const book = new LoopBook(world.project, world.home)
  const ran = path.join(world.home, 'ran')
  const hostile = `echo ran >> ${ran}`
  const tasks = `- [ ] Task 1\n  checks: test -e .\n- [ ] Task 2\n  checks: ${hostile}\n`
  const loop = await book.start(host, world.list, {
    onEntry: ({ type }) => {
      if (type === 'task:start') writeFileSync(world.list, tasks)
    },
  })
  const { loopId } = loop.state
  await loop.run()
  const journal = path.join(book.folder(loopId), 'journal.ndjson')
  const forge = (entry: object) => {
    appendFileSync(journal, `${JSON.stringify({ at: new Date().toISOString(), ...entry })}\n`)
  }
  const own = path.join(book.folder(loopId), 'own.json')
  const hasRun = () => existsSync(ran)
  const resume = async (options: Parameters<LoopBook['resume']>[2] = {}) => {
    const next = await book.resume(host, loopId, options)
    return { state: next.state, end: await next.run() }
  }
  return { ...world, host, book, loopId, hostile, journal, forge, own, ran, hasRun, resume }
}

test(
  'lines that somebody writes into the journal allow no command, and count for nothing',
  SLOW,
  async () => {
    const { book, loopId, hostile, forge, hasRun, resume, own, ran } = await loopWithParkedTask()
    expect(JSON.parse(readFileSync(own, 'utf8')).allowed).toEqual(['test -e .'])
    const before = await book.get(loopId)

    forge({ type: 'commands:allowed', commands: [hostile] })
    forge({ type: 'task:proved', task: 'task-2', commit: before.base })
    const found = await book.get(loopId)
    expect(found.broken).toEqual([expect.stringContaining('does not follow from those before it')])
    expect(found.tasks.get('task-2')).toMatchObject({ status: 'parked', commands: [hostile] })
    expect(await book.report(found)).toMatch(/^# Loop .*\n\n## Somebody changed files of this loop\n/)
    await expect(resume()).rejects.toThrow('--as-found')
    expect(hasRun()).toBe(false)

    const told = await resume({ asFound: true })
    expect([told.end.reason, hasRun()]).toEqual(['blocked', false])
    const after = await book.get(loopId)
    expect([after.broken, after.altered]).toEqual([[], [expect.stringContaining('does not follow')]])
    expect(await book.report(after)).toContain('While it ran, somebody changed its own files')
    expect(awaitedCommands(after)).toEqual([hostile])
    expect(() => requireAwaited(after, [hostile])).not.toThrow()

    expect((await resume({ allow: [hostile] })).end.reason).toBe('done')
    // On the base, in the worktree of the task, and once more after its merge.
    expect(readFileSync(ran, 'utf8')).toBe('ran\nran\nran\n')
  },
)

test('a record of allowed commands that somebody changed allows none', SLOW, async () => {
  const { book, loopId, hostile, own, hasRun, resume } = await loopWithParkedTask()
  const record = JSON.parse(readFileSync(own, 'utf8'))
  writeFileSync(own, JSON.stringify({ ...record, allowed: [...record.allowed, hostile] }))
  expect((await book.get(loopId)).broken).toEqual([expect.stringContaining('own.json')])
  await expect(resume()).rejects.toThrow('--as-found')
  const told = await resume({ asFound: true, again: { task: 'task-2', note: '' } })
  expect([told.end.reason, hasRun()]).toEqual(['blocked', false])
  // Nothing is known to be allowed any more.
  expect(told.state.allowed.size).toBe(0)
})

test(
  'a command that a killed process allowed without a journal entry lets the task go on',
  SLOW,
  async () => {
    const { home, project, loopId, hostile, resume, hasRun } = await loopWithParkedTask()
    writeOwnLoop(home, loopId, { project, allowed: ['test -e .', hostile] })
    expect([(await resume()).end.reason, hasRun()]).toEqual(['done', true])
  },
)

test('a loop of an earlier version, or of a clone, is shown as not checked, and is not gone on with', async () => {
  const { project, list, home } = projectWith('- [ ] Task 1\n')
  commitAll(project)
  const host = hostWith(home, new InstantAgent())
  const book = new LoopBook(project, home)
  const folder = book.copyFolder('tasks-1')
  mkdirSync(folder, { recursive: true })
  const at = new Date().toISOString()
  const start = {
    at,
    type: 'loop:start',
    loopId: 'tasks-1',
    list,
    projectRoot: project,
    base: 'b',
    baseBranch: null,
  }
  const task = {
    id: 'task-1',
    title: 'Task 1',
    notes: '',
    groups: [],
    checks: [],
    expect: 'diff',
    dependsOn: [],
  }
  const lines = [
    { ...start, worktreeId: 'w', settings: {}, allowed: [] },
    {
      at,
      type: 'task:start',
      task: { ...task, ticked: false, line: 1 },
      sessionId: 's',
      worktreeId: 't',
      base: 'b',
    },
    { at, type: 'task:merged', task: 'task-1', commit: 'b' },
    { at, type: 'loop:end', reason: 'done', why: 'Every task is proved.' },
  ]
  writeFileSync(path.join(folder, 'journal.ndjson'), lines.map(line => `${JSON.stringify(line)}\n`).join(''))
  // Layout of an earlier version in the data folder.
  mkdirSync(path.join(home, 'loops'), { recursive: true })
  writeFileSync(path.join(home, 'loops', 'tasks-1'), project)

  const [shown] = await book.list()
  expect(shown).toMatchObject({ loopId: 'tasks-1', isForeign: true, end: { reason: 'failed' } })
  expect(shown?.tasks.size).toBe(0)
  const report = await book.report(await book.get('tasks-1'))
  expect(report).toContain('nothing in it is checked')
  expect(report).toContain('0 proved')
  expect(await book.openOn(list)).toBeUndefined()
  await expect(book.resume(host, 'tasks-1')).rejects.toThrow('nothing in it is checked')
  await expect(book.resume(host, 'tasks-1', { asFound: true })).rejects.toThrow('nothing in it is checked')
})

test(
  'a data folder that cannot be written, is gone or damaged refuses a loop and says what to do',
  SLOW,
  async () => {
    const { home, host, book, list, loopId, hostile, own, hasRun, resume } = await loopWithParkedTask()
    const folder = path.join(home, 'loops')
    // A file in the place of the folder: rights would not stop root.
    const aside = path.join(home, 'aside')
    const next = await book.resume(host, loopId)
    renameSync(folder, aside)
    writeFileSync(folder, '')
    expect(() => next.allow([hostile])).toThrow('CHIRALITY_HOME names another data folder')
    expect(next.state.allowed.has(hostile)).toBe(false)
    rmSync(list)
    writeFileSync(list, '- [ ] Task 9\n  checks: test -e .\n')
    await expect(book.start(host, list, { allowDirty: true })).rejects.toMatchObject({ code: 'loop-refused' })
    expect((await book.list().catch(() => [])).filter(loop => loop.list === list)).toEqual([])

    rmSync(folder)
    await expect(resume()).rejects.toThrow('nothing in it is checked')
    renameSync(aside, folder)
    writeFileSync(own, '{"project":')
    await expect(resume({ allow: [hostile] })).rejects.toThrow('own.json, which says what it may run')
    expect(await book.openOn(list)).toBeUndefined()
    const fresh = await book.start(host, list, { allowDirty: true })
    expect([(await fresh.run()).reason, hasRun()]).toEqual(['done', false])
  },
)
