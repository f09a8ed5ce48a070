import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { initRepository } from '@chirality/fixtures'
import {
  foldJournal,
  type JournalEntry,
  LoopBook,
  type LoopEndReason,
  parseTaskList,
  ScheduleBook,
  type Stamped,
} from '@chirality/loops'
import { HarnessRegistry } from '@chirality/runner'
import { SessionHost } from '@chirality/sessions'
import { expect, onTestFinished, test } from 'vitest'
import { removeOldWorktrees } from '../src/loops/old-worktrees.ts'
import { shownLoop } from '../src/loops/shown-loop.ts'

const LIST = '- [x] One\n'
const AT = '2030-01-01T00:00:00.000Z'
const { tasks, settings } = parseTaskList(LIST, 'TASKS.md')

/** A loop as the page shows it, by what its journal says. */
function loopOf(project: string, loopId: string, entries: readonly JournalEntry[]) {
  const start: JournalEntry = {
    ...{ type: 'loop:start', loopId, list: path.join(project, 'TASKS.md'), projectRoot: project, base: 'b' },
    ...{ baseBranch: 'main', worktreeId: `loop-${loopId}`, settings, by: 'server' },
  }
  const state = foldJournal([start, ...entries].map((entry): Stamped => ({ ...entry, at: AT })))
  if (state === undefined) throw new Error('no state')
  return shownLoop(
    { state, book: new LoopBook(project, path.join(project, '../home')), runs: 'no', live: () => undefined },
    null,
  )
}

function begun(worktreeId: string): JournalEntry {
  const [task] = tasks
  if (task === undefined) throw new Error('no task')
  return { type: 'task:start', task, sessionId: 's', worktreeId, base: 'b' }
}

function projectOf() {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-old-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const repository = initRepository(path.join(folder, 'shop'))
  repository.write('TASKS.md', LIST)
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  return { repository, project: repository.root, home: path.join(folder, 'home') }
}

test('of old loops only the worktree of a branch goes that nothing goes on with; one that fails does not keep the others', async () => {
  const { repository, project, home } = projectOf()
  const host = new SessionHost({ harnesses: new HarnessRegistry<SessionHarness>(), address: 'test', home })
  onTestFinished(() => host.close())
  const merged: JournalEntry = { type: 'task:merged', task: 'one', commit: 'c' }
  const parked: JournalEntry = { type: 'task:parked', task: 'one', kind: 'question', why: 'Which?' }
  const end = (reason: LoopEndReason): JournalEntry => ({ type: 'loop:end', reason, why: '' })
  // By the age of their runs, the oldest first.
  const shown = await Promise.all(
    Object.entries({
      done: [begun('restored'), merged, end('done')],
      nesting: [begun('none'), merged, end('done')],
      blocked: [begun('asking'), parked, end('blocked')],
      // A person ticked the box of the task that is parked.
      ticked: [begun('other'), parked, end('done')],
      last: [begun('none'), merged, end('done')],
    }).map(async ([loopId, entries]) => [loopId, await loopOf(project, loopId, entries)] as const),
  )
  const loops = new Map(shown)
  const ids = [...[...loops.keys()].map(id => `loop-${id}`), 'restored', 'asking', 'other']
  for (const id of ids) await host.worktrees.make({ projectRoot: project, title: id, id })
  // A repository in it, which is on the main branch by now: it is clean, but refuses to be removed.
  const { folder, branch } = await host.worktrees.get('loop-nesting')
  const nested = initRepository(path.join(folder, 'nested'))
  nested.run('commit', '-qm', 'Nested', '--allow-empty')
  repository.run('-C', folder, 'add', 'nested')
  repository.run('-C', folder, 'commit', '-qm', 'With another repository')
  repository.run('merge', '-q', branch)

  const book = new ScheduleBook(home)
  const { id } = book.add({
    ...{ name: 'Nightly', project, keepRuns: 1, what: { kind: 'loop', list: 'TASKS.md' } },
    when: { kind: 'every', minutes: 60 },
  }).schedule
  const before = { usd: null, tokens: 0, iterations: 0 }
  for (const loopId of loops.keys())
    book.claim(id, { do: 'run', due: 0, until: 0, why: 'asked' }, { now: 0, open: { loopId, before } })
  const faults: unknown[] = []
  let isClosed = true
  const tidy = () =>
    removeOldWorktrees(book.get(id), {
      ...{ host, onFault: error => faults.push(error), isClosed: () => isClosed },
      loops: {
        get: async loopId => {
          const loop = loops.get(loopId)
          if (loop === undefined) throw new Error(`no loop ${loopId}`)
          return loop
        },
      },
    })
  const ready = async () => (await host.worktrees.list()).map(worktree => worktree.id).sort()
  // A server that ends does not begin with another one.
  await tidy()
  expect(await ready()).toEqual([...ids].sort())
  isClosed = false
  await tidy()
  expect(await ready()).toEqual(ids.filter(one => one !== 'loop-done').sort())
  expect(faults.map(String)).toEqual([expect.stringContaining('contains another repository')])
})

test('a task that was handed over is shown with what all of its agents have spent', async () => {
  const { project } = projectOf()
  const ended = (usd: number): JournalEntry => ({
    ...{ type: 'iteration:end', task: 'one', n: 1, reason: 'completed' },
    spent: { usd, isEstimate: false, tokens: usd * 10 },
  })
  const handed: JournalEntry = {
    ...{ type: 'task:handed', task: 'one', from: 'a', to: 'b', sessionId: 's2', why: 'The limit.' },
  }
  const loop = await loopOf(project, 'tasks', [begun('w'), ended(1), handed, ended(2)])
  expect(loop.tasks).toMatchObject([{ spent: { usd: 3, tokens: 30 }, harness: 'b' }])
  expect(loop.spent).toMatchObject({ usd: 3, tokens: 30 })
})
