import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { awaitedCommands, requireAwaited } from '../src/commands.ts'
import { LoopBook } from '../src/loop-book.ts'
import { InstantAgent } from './support/instant-agent.ts'
import { commitAll, hostWith, projectWith } from './support/loop-project.ts'

const SLOW = { timeout: 180_000 }

/** A loop whose second task has a command that nobody allowed, after its first run. */
async function loopWithParkedTask() {
  const world = projectWith('- [ ] Task 1\n  checks: test -e .\n')
  commitAll(world.project)
  const host = hostWith(world.home, new InstantAgent())
  const book = new LoopBook(world.project)
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
  const own = path.join(world.home, 'loops', loopId)
  const hasRun = () => existsSync(ran)
  const resume = async (options: Parameters<LoopBook['resume']>[2] = {}) => {
    const next = await book.resume(host, loopId, options)
    return { state: next.state, end: await next.run() }
  }
  return { ...world, host, book, loopId, hostile, journal, forge, own, ran, hasRun, resume }
}

test('lines that an agent writes into the journal allow no command', SLOW, async () => {
  const { book, loopId, hostile, forge, hasRun, journal, resume, own, ran } = await loopWithParkedTask()
  expect(JSON.parse(readFileSync(own, 'utf8')).allowed).toEqual(['test -e .'])

  forge({ type: 'commands:allowed', commands: [hostile] })
  expect(book.get(loopId).tasks.get('task-2')?.status).toBe('working')
  const told = await resume()
  expect([told.end.reason, hasRun()]).toEqual(['blocked', false])
  const parked = book.get(loopId).tasks.get('task-2')
  expect(parked).toMatchObject({ status: 'parked', commands: [hostile], iterations: 0 })
  expect(parked?.why).toContain('only the journal in the project says so')
  expect(awaitedCommands(book.get(loopId))).toEqual([hostile])

  // The first line, and a task that is said to have passed its checks: nothing is left but to merge it.
  const [start = '', ...rest] = readFileSync(journal, 'utf8').split('\n')
  const first = JSON.parse(start)
  const settings = { ...first.settings, setup: [hostile] }
  const forged = JSON.stringify({ ...first, settings, allowed: [...first.allowed, hostile] })
  writeFileSync(journal, [forged, ...rest].join('\n'))
  forge({ type: 'task:again', task: 'task-2', note: '' })
  forge({ type: 'task:proved', task: 'task-2', commit: first.base })
  expect(book.get(loopId).tasks.get('task-2')?.stage.at).toBe('proved')
  expect([(await resume()).end.reason, hasRun()]).toEqual(['blocked', false])

  // Of a journal without `allowed`, as an early version wrote it, nothing is taken for allowed either.
  const { allowed, ...bare } = first
  expect(allowed).toEqual(['test -e .'])
  writeFileSync(journal, [JSON.stringify(bare), ...rest].join('\n'))
  forge({ type: 'task:again', task: 'task-2', note: '' })
  expect([(await resume()).end.reason, hasRun()]).toEqual(['blocked', false])
  expect(JSON.parse(readFileSync(own, 'utf8')).allowed).toEqual(['test -e .'])

  expect((await resume({ allow: [hostile] })).end.reason).toBe('done')
  // In the worktree of the task, and once more after its merge.
  expect(readFileSync(ran, 'utf8')).toBe('ran\nran\n')
})

test(
  'a command that a journal line allows while its task is parked can still be allowed by a person',
  SLOW,
  async () => {
    const { book, loopId, hostile, journal, resume } = await loopWithParkedTask()
    const lines = readFileSync(journal, 'utf8').split('\n')
    const at = lines.findIndex(line => line.includes('"tasks:parked"'))
    const forged = JSON.stringify({ at: '', type: 'commands:allowed', commands: [hostile] })
    writeFileSync(journal, [...lines.slice(0, at), forged, ...lines.slice(at)].join('\n'))
    expect(awaitedCommands(book.get(loopId))).toEqual([hostile])
    expect(() => requireAwaited(book.get(loopId), [hostile])).not.toThrow()
    expect((await resume({ allow: [hostile] })).end.reason).toBe('done')
  },
)

test(
  'what a killed process allowed and did not write into the journal lets the task go on',
  SLOW,
  async () => {
    const { hostile, own, resume, hasRun } = await loopWithParkedTask()
    const record = JSON.parse(readFileSync(own, 'utf8'))
    writeFileSync(own, JSON.stringify({ ...record, allowed: [...record.allowed, hostile] }))
    expect([(await resume()).end.reason, hasRun()]).toEqual(['done', true])
  },
)

test(
  'a loop of a version that kept allowed commands in the journal asks for them again, and says why',
  SLOW,
  async () => {
    const { project, list, home } = projectWith(
      '---\nsetup: test -e .\n---\n- [ ] Task 1\n  checks: test -e README.md\n- [ ] Task 2\n  checks: test -e .git\n',
    )
    writeFileSync(path.join(project, 'README.md'), 'A project.\n')
    commitAll(project)
    const host = hostWith(home, new InstantAgent())
    const book = new LoopBook(project)
    const first = await book.start(host, list, {
      // The process ends when the checks of the task have passed.
      onEntry: ({ type }) => type === 'checks:end' && first.suspend('stop'),
    })
    const { loopId } = first.state
    await first.run()
    // As that version left it: the folder of the project, and nothing else.
    writeFileSync(path.join(home, 'loops', loopId), project)

    const types: string[] = []
    const next = await book.resume(host, loopId, { onEntry: ({ type }) => types.push(type) })
    expect(await next.run()).toMatchObject({ reason: 'blocked' })
    expect(types).toContain('commands:refused')
    expect(types).not.toContain('checks:start')
    const parked = book.get(loopId).tasks.get('task-1')
    expect(parked).toMatchObject({ status: 'parked', commands: ['test -e .', 'test -e README.md'] })
    expect(parked?.why).toContain('or an earlier version wrote it')
    // The set-up is asked for by one task.
    expect(book.get(loopId).tasks.has('task-2')).toBe(false)

    // A schedule has what its user allowed in the data folder, and names it at each run.
    const allow = ['test -e .', 'test -e README.md', 'test -e .git']
    const last = await book.resume(host, loopId, { allow })
    expect(await last.run()).toMatchObject({ reason: 'done' })
    expect((await book.resume(host, loopId)).state.allowed).toEqual(new Set(allow))
  },
)

test(
  'a data folder that cannot be written, is gone or damaged refuses a loop and says what to do',
  SLOW,
  async () => {
    const { home, host, book, list, loopId, hostile, journal, own, hasRun, resume } =
      await loopWithParkedTask()
    const folder = path.join(home, 'loops')
    const before = readFileSync(journal, 'utf8')
    // A file in the place of the folder: rights would not stop root.
    const aside = path.join(home, 'aside')
    const next = await book.resume(host, loopId)
    renameSync(folder, aside)
    writeFileSync(folder, '')
    expect(() => next.allow([hostile])).toThrow('CHIRALITY_HOME names another data folder')
    expect(next.state.allowed.has(hostile)).toBe(false)
    expect(readFileSync(journal, 'utf8')).toBe(before)
    rmSync(list)
    writeFileSync(list, '- [ ] Task 9\n  checks: test -e .\n')
    await expect(book.start(host, list, { allowDirty: true })).rejects.toMatchObject({ code: 'loop-refused' })
    expect(book.list().map(loop => loop.loopId)).toEqual([loopId])

    rmSync(folder)
    await expect(resume()).rejects.toThrow(`your data folder ${home} has no record of it`)
    renameSync(aside, folder)
    writeFileSync(own, '{"project":')
    await expect(resume({ allow: [hostile] })).rejects.toThrow('Start one on the list')
    expect(book.openOn(host, list)).toBeUndefined()
    const fresh = await book.start(host, list, { allowDirty: true })
    expect([(await fresh.run()).reason, hasRun()]).toEqual(['done', false])
  },
)
