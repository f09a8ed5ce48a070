import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { awaitedCommands, requireAwaited } from '../src/commands.ts'
import { LoopBook } from '../src/loop-book.ts'
import { LoopStore } from '../src/loop-store.ts'
import { KEEP_LOOPS } from '../src/old-loops.ts'
import { writeOwnLoop } from '../src/own-loop.ts'
import { parseTaskList } from '../src/task-list.ts'
import { InstantAgent } from './support/instant-agent.ts'
import { commitAll, hostWith, projectWith } from './support/loop-project.ts'

test('a task that joins or changes with a command that nobody allowed waits, and exactly that command can be allowed', {
  timeout: 180_000,
}, async () => {
  const { project, list, home } = projectWith(
    '- [ ] Task 1\n  checks: test -e .\n- [ ] Task 2\n  checks: test -e .\n',
  )
  commitAll(project)
  const ran = path.join(home, '..', 'ran')
  const hostile = `echo ran >> ${ran}`
  const host = hostWith(home, new InstantAgent())
  const book = new LoopBook(project, home)
  const loop = await book.start(host, list, {
    onEntry: ({ type }) => {
      // A pull brings another list while the first task is at work.
      if (type === 'iteration:start' && !readFileSync(list, 'utf8').includes('Task 3')) {
        writeFileSync(list, readFileSync(list, 'utf8').replace(/(Task 2\n {2}checks: ).*/, `$1${hostile}`))
        appendFileSync(list, '- [ ] Task 3\n- [ ] Task 4\n  depends_on: Task 2\n')
      }
    },
  })
  const { loopId } = loop.state
  expect([...loop.state.allowed]).toEqual(['test -e .'])
  expect(await loop.run()).toMatchObject({ reason: 'blocked' })
  const ends = async () =>
    [...(await book.get(loopId)).tasks.values()].map(({ task, status }) => [task.id, status])
  expect(await ends()).toEqual([
    ['task-1', 'merged'],
    ['task-2', 'parked'],
    ['task-3', 'merged'],
  ])
  const parked = (await book.get(loopId)).tasks.get('task-2')
  expect(parked).toMatchObject({ parked: 'commands', commands: [hostile], iterations: 0 })
  expect(parked?.why).toContain(hostile)
  expect(await book.report(await book.get(loopId))).toContain(
    `chirality loop resume ${loopId} --allow '${hostile}'`,
  )
  expect(existsSync(ran)).toBe(false)
  // Neither a worktree nor a session was made for it.
  expect(await host.worktrees.find(parked?.worktreeId ?? '')).toBeUndefined()
  expect(await host.store.get(parked?.sessionId ?? '')).toBeUndefined()

  // After a restart, and if a person only says "again", it is still not run.
  const again = { task: 'task-2', note: '' }
  expect(await (await book.resume(host, loopId, { again })).run()).toMatchObject({ reason: 'blocked' })
  expect([existsSync(ran), awaitedCommands(await book.get(loopId))]).toEqual([false, [hostile]])
  const state = await book.get(loopId)
  expect(() => requireAwaited(state, [`${hostile} `])).toThrow('waits for the command')
  const other = await book.resume(host, loopId, { allow: ['another one'] })
  expect(await other.run()).toMatchObject({ reason: 'blocked' })
  expect(existsSync(ran)).toBe(false)

  const allowing = await book.resume(host, loopId, { allow: [hostile] })
  expect(await allowing.run()).toMatchObject({ reason: 'done' })
  expect((await ends()).map(([, status]) => status)).toEqual(['merged', 'merged', 'merged', 'merged'])
  // On the base, in the worktree of the task, and once more after its merge.
  expect(readFileSync(ran, 'utf8')).toBe('ran\nran\nran\n')
})

test('a parked command that the list does not name any more is not asked for: the task runs with what the list says now', {
  timeout: 180_000,
}, async () => {
  const { project, list, home } = projectWith('- [ ] Task 1\n  checks: exit 3\n')
  commitAll(project)
  const host = hostWith(home, new InstantAgent())
  const book = new LoopBook(project, home)
  // A schedule: what its user allowed is not what the list names.
  const loop = await book.start(host, list, { allowed: ['test -e .'] })
  expect(await loop.run()).toMatchObject({ reason: 'blocked' })
  expect(loop.state.tasks.get('task-1')).toMatchObject({ status: 'parked', commands: ['exit 3'] })
  writeFileSync(list, '- [ ] Task 1\n  checks: test -e .\n')
  const { loopId } = loop.state
  const next = await book.resume(host, loopId, { again: { task: 'task-1', note: 'The list is mended.' } })
  expect(await next.run()).toMatchObject({ reason: 'done' })
  expect(next.state.tasks.get('task-1')).toMatchObject({ status: 'merged', notes: ['The list is mended.'] })
  expect(next.state.tasks.get('task-1')?.commands).toBeUndefined()
})

test('thousands of tasks with other commands are one record, and a set-up that nobody allowed is asked for once', {
  timeout: 180_000,
}, async () => {
  const many = Array.from({ length: 3000 }, (_, n) => `- [ ] Other ${n}\n  checks: exit ${n}\n`).join('')
  const { project, list, home } = projectWith(`${many}- [ ] Task 1\n  checks: test -e .\n`)
  commitAll(project)
  const host = hostWith(home, new InstantAgent())
  const book = new LoopBook(project, home)
  const entries: string[] = []
  const loop = await book.start(host, list, {
    allowed: ['test -e .'],
    onEntry: ({ type }) => entries.push(type),
  })
  expect(await loop.run()).toMatchObject({ reason: 'blocked' })
  expect(entries.filter(type => type === 'tasks:parked')).toHaveLength(1)
  expect(entries).not.toContain('task:parked')
  const kept = await book.get(loop.state.loopId)
  expect([...kept.tasks.values()].filter(({ status }) => status === 'parked')).toHaveLength(3000)
  expect(kept.tasks.get('task-1')?.status).toBe('merged')
  expect(kept.tasks.get('other-7')).toMatchObject({ parked: 'commands', commands: ['exit 7'], iterations: 0 })
  expect(kept.tasks.get('other-7')?.why).toContain('`exit 7`')

  const other = path.join(project, 'OTHER.md')
  writeFileSync(other, '---\nsetup: test -e .git\n---\n- [ ] Task 2\n- [ ] Task 3\n')
  const asking = await book.start(host, other, { allowed: [], allowDirty: true })
  expect(await asking.run()).toMatchObject({ reason: 'blocked' })
  expect([...asking.state.tasks.keys()]).toEqual(['task-2'])
  const went = await book.resume(host, asking.state.loopId, { allow: ['test -e .git'] })
  expect(await went.run()).toMatchObject({ reason: 'done' })
})

test('an old loop whose folder cannot be removed does not keep a new one from its caller', async () => {
  const { project, list, home } = projectWith('- [ ] Task 1\n')
  commitAll(project)
  const host = hostWith(home, new InstantAgent())
  const book = new LoopBook(project, home)
  // More loops than are kept, all over and accepted; the oldest cannot be removed.
  const journal = (loopId: string, day: number) => {
    const at = new Date(Date.UTC(2020, 0, 1 + day)).toISOString()
    writeOwnLoop(home, loopId, { project, allowed: [] })
    const { settings } = parseTaskList('- [ ] One\n', 'TASKS.md')
    const written = new LoopStore(project, home).journal(loopId)
    // Its time is that of the first entry.
    const start = { at, type: 'loop:start' as const, loopId, list, projectRoot: project, base: 'b' }
    written.add(
      { ...start, baseBranch: 'main', worktreeId: 'w', settings, allowed: [] },
      { type: 'loop:end', reason: 'done', why: '' },
    )
    written.close()
  }
  for (let day = 0; day <= KEEP_LOOPS; day += 1) journal(`old-${day}`, day)
  // Deeper than a path can be: rights would not stop root.
  const deeper = 'cd "$1" && for i in $(seq 20); do mkdir "$2" && cd -P "$2"; done'
  execFileSync('sh', ['-c', deeper, 'sh', book.folder('old-0'), 'd'.repeat(250)])
  onTestFinished(() => void execFileSync('rm', ['-rf', book.folder('old-0')]))
  await expect(book.forgetOld(host, KEEP_LOOPS)).rejects.toThrow('ENAMETOOLONG')
  const loop = await book.start(host, list, { allowDirty: true })
  expect(await loop.run()).toMatchObject({ reason: 'done' })
})

test('the sessions of tasks that are over are closed, but for one that somebody follows', {
  timeout: 180_000,
}, async () => {
  const { project, list, home } = projectWith('- [ ] Task 1\n- [ ] Task 2\n- [ ] Task 3\n')
  commitAll(project)
  const host = hostWith(home, new InstantAgent())
  let followed: AsyncIterator<unknown> | undefined
  const loop = await new LoopBook(project, home).start(host, list, {
    onEntry: entry => {
      if (entry.type !== 'iteration:end' || entry.task !== 'task-1') return
      const { sessionId = '' } = loop.state.tasks.get('task-1') ?? {}
      followed = host.openSession(sessionId)?.log.subscribe(0)
    },
  })
  expect(await loop.run()).toMatchObject({ reason: 'done' })
  const open = () =>
    [...loop.state.tasks.values()].map(({ sessionId }) => host.openSession(sessionId) !== undefined)
  expect(open()).toEqual([true, false, false])
  expect((await followed?.next())?.done).toBe(false)
  await followed?.return?.()
  const [first, second] = [...loop.state.tasks.values()].map(({ sessionId }) => sessionId)
  expect(await host.letGo(first ?? '')).toBe(true)
  expect(open()).toEqual([false, false, false])
  // A person who looks at one opens it again, with all that was said.
  const live = await host.session(second ?? '')
  expect(live.log.readAfter(0, 100).some(({ event }) => event.type === 'turn:end')).toBe(true)
  expect(live.status.costUsd).toBeGreaterThan(0)
})
