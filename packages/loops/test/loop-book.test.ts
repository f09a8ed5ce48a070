import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import { SessionHost } from '@chirality/sessions'
import { expect, onTestFinished, test } from 'vitest'
import { LoopBook } from '../src/loop-book.ts'
import { LoopStore } from '../src/loop-store.ts'
import { writeOwnLoop } from '../src/own-loop.ts'
import { parseTaskList } from '../src/task-list.ts'
import { InstantAgent } from './support/instant-agent.ts'
import { commitAll, hostWith, projectWith } from './support/loop-project.ts'

test('a loop is found from the data folder by its project, also one that nothing has run of', async () => {
  const { project, list, home } = projectWith('- [ ] One\n')
  const book = new LoopBook(project, home)
  const write = (loopId: string, projectRoot: string) => {
    writeOwnLoop(home, loopId, { project: projectRoot, allowed: [] })
    const journal = new LoopStore(project, home).journal(loopId)
    const { settings } = parseTaskList('- [ ] One\n', 'TASKS.md')
    journal.add({
      type: 'loop:start',
      loopId,
      list,
      projectRoot,
      base: 'b',
      baseBranch: 'main',
      worktreeId: 'w',
      settings,
      by: 'server',
    })
    journal.close()
  }
  write('tasks-1', path.dirname(project))
  // The same name in this project is a clone of the other one.
  expect((await book.list()).map(({ loopId, isForeign }) => [loopId, isForeign])).toEqual([['tasks-1', true]])
  expect(await book.openOn(list)).toBeUndefined()
  write('tasks-2', project)
  expect((await book.openOn(list))?.loopId).toBe('tasks-2')
  expect(await book.openOn(path.join(project, 'OTHER.md'))).toBeUndefined()
  rmSync(path.join(project, '.chirality'), { recursive: true })
  expect((await book.list()).map(({ loopId }) => loopId)).toEqual(['tasks-2'])
})

test('a start on a list that its caller refuses, or that is a pipe, leaves nothing behind', async () => {
  const { project, list, home } = projectWith('- [ ] One\n')
  const host = new SessionHost({ harnesses: new HarnessRegistry<SessionHarness>(), address: 'test', home })
  onTestFinished(() => host.close())
  const book = new LoopBook(project, home)
  const seen: string[] = []
  const check = async ({ tasks }: { tasks: { title: string }[] }) => {
    seen.push(...tasks.map(({ title }) => title))
    throw new Error('Not these.')
  }
  await expect(book.start(host, list, { check })).rejects.toThrow('Not these.')
  expect(seen).toEqual(['One'])
  // Nobody writes into it: who reads it waits for ever.
  const pipe = path.join(project, 'PIPE.md')
  execFileSync('mkfifo', [pipe])
  await expect(book.start(host, pipe)).rejects.toMatchObject({ code: 'bad-list' })
  expect(await book.list()).toEqual([])
})

test('a start that fails after its journal was begun leaves no loop that the next server would run', async () => {
  const { project, list, home } = projectWith('- [ ] One\n')
  const host = new SessionHost({ harnesses: new HarnessRegistry<SessionHarness>(), address: 'test', home })
  onTestFinished(() => host.close())
  class Disturbed extends LoopBook {
    override async forgetOld(): Promise<void> {
      // Another program puts something else in its place.
      const journal = path.join(this.folder('tasks-1'), 'journal.ndjson')
      rmSync(journal)
      mkdirSync(journal)
    }
  }
  commitAll(project)
  const book = new Disturbed(project, home)
  await expect(book.start(host, list, { loopId: 'tasks-1', by: 'server' })).rejects.toThrow()
  expect(existsSync(book.folder('tasks-1'))).toBe(false)
  expect(book.isOwn('tasks-1')).toBe(false)
  expect(await new LoopBook(project, home).list()).toEqual([])
})

test('a start whose journal cannot be written leaves nothing, and a record without a journal is removed', async () => {
  const { project, list, home } = projectWith('- [ ] One\n')
  class Disturbed extends SessionHost {
    override async openProject(root: string) {
      const report = await super.openProject(root)
      mkdirSync(path.join(book.folder('tasks-1'), 'journal.ndjson'), { recursive: true })
      return report
    }
  }
  const options = { harnesses: new HarnessRegistry<SessionHarness>(), address: 'test', home }
  const host = new Disturbed(options)
  onTestFinished(() => host.close())
  commitAll(project)
  const book = new LoopBook(project, home)
  const record = (loopId: string) => path.join(home, 'loops', loopId)
  await expect(book.start(host, list, { loopId: 'tasks-1', by: 'server' })).rejects.toThrow(/EEXIST/)
  expect([existsSync(book.folder('tasks-1')), existsSync(record('tasks-1'))]).toEqual([false, false])

  // Its process was killed between the record and the journal. Those of other projects are theirs.
  writeOwnLoop(home, 'tasks-2', { project, allowed: [] })
  writeOwnLoop(home, 'tasks-3', { project: path.dirname(project), allowed: [] })
  await host.close()
  const next = new SessionHost(options)
  onTestFinished(() => next.close())
  await book.start(next, list, { loopId: 'tasks-4', by: 'server' })
  const left = ['tasks-2', 'tasks-3', 'tasks-4'].filter(loopId => existsSync(record(loopId)))
  expect(left).toEqual(['tasks-3', 'tasks-4'])
})

test('tasks that meet the same limit at once wait for it once, and no other is started', {
  timeout: 120_000,
}, async () => {
  const { project, list, home } = projectWith(
    '---\nparallel: 2\nwait_for_limits: 1\n---\n- [ ] One\n- [ ] Two\n- [ ] Three\n',
  )
  commitAll(project)
  const limitedUntil = inHours(1)
  let asked = 0
  let bothAsked = () => {}
  const both = new Promise<void>(resolve => {
    bothAsked = resolve
  })
  const host = hostWith(
    home,
    new InstantAgent({
      limitedUntil,
      asked: () => {
        asked += 1
        if (asked === 2) bothAsked()
        return both
      },
    }),
  )
  const seen: string[] = []
  const loop = await new LoopBook(project, home).start(host, list, {
    onEntry: ({ type }) => {
      seen.push(type)
      const met = seen.filter(one => one === 'iteration:end').length
      // Work after the end of a turn is done before the next timer.
      if (type === 'iteration:end' && met === 2) setTimeout(() => loop.stop(), 100)
    },
  })
  // With a second window the loop would have ended by itself.
  expect(await loop.run()).toMatchObject({ reason: 'stopped' })
  const count = (type: string) => seen.filter(one => one === type).length
  expect([count('loop:wait'), count('task:start'), count('iteration:end')]).toEqual([1, 2, 2])
  expect(loop.state).toMatchObject({ waits: 1, waitUntil: limitedUntil })
})

test('a task is handed to no agent that is not installed, and goes on to the next if one has no login', {
  timeout: 120_000,
}, async () => {
  const { project, list, home } = projectWith(
    '---\nhand_over: true\nmax_attempts: 1\nnext_harnesses: absent, loginless, last\n---\n- [ ] Task 1\n  harness: instant\n',
  )
  commitAll(project)
  const absent = new InstantAgent({ id: 'absent', isInstalled: false })
  const host = hostWith(
    home,
    new InstantAgent({ limitedUntil: inHours(1) }),
    absent,
    new InstantAgent({ id: 'loginless', hasLogin: false }),
    new InstantAgent({ id: 'last' }),
  )
  const loop = await new LoopBook(project, home).start(host, list)
  expect(await loop.run()).toMatchObject({ reason: 'done' })
  const [task] = loop.state.tasks.values()
  expect(task).toMatchObject({
    status: 'merged',
    harness: 'last',
    iterations: 3,
    attempts: 1,
    handed: [
      { from: 'instant', to: 'loginless', why: expect.stringContaining('The limit of instant') },
      { from: 'loginless', to: 'last', why: 'loginless cannot work: There is no login.' },
    ],
  })
  expect(absent.turns).toBe(0)
})

test('a reset time that is over is not waited for', { timeout: 120_000 }, async () => {
  const { project, list, home } = projectWith('---\nwait_for_limits: 3\n---\n- [ ] One\n')
  commitAll(project)
  const host = hostWith(home, new InstantAgent({ limitedUntil: inHours(-1) }))
  const loop = await new LoopBook(project, home).start(host, list)
  expect(await loop.run()).toMatchObject({
    reason: 'rate-limit',
    why: expect.stringContaining('does not say when'),
  })
  expect(loop.state).toMatchObject({ waits: 0, iterations: 1 })
})

function inHours(hours: number): string {
  return new Date(Date.now() + hours * 3_600_000).toISOString()
}
