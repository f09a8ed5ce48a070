import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type JournalEntry, LoopStore, writeOwnLoop } from '@chirality/loops'
import { expect, onTestFinished, test } from 'vitest'
import { endGroups } from '../src/loops/ended-groups.ts'
import { LoopBooks } from '../src/loops/loop-books.ts'

test('the fleet forgets loops that ended or were removed, and no other', async () => {
  const project = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-groups-')))
  const home = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-groups-home-')))
  onTestFinished(() => {
    for (const folder of [project, home]) rmSync(folder, { recursive: true, force: true })
  })
  const own = (loopId: string, root: string) => writeOwnLoop(home, loopId, { project: root, allowed: [] })
  const task = (id: string, where: string[] | undefined) => ({
    ...{ type: 'task:start', sessionId: `session-${id}`, worktreeId: `tree-${id}`, base: 'abc' },
    task: {
      ...{ id, title: id, notes: '', groups: [], dependsOn: [], checks: [], expect: 'diff', ticked: false },
      ...{ line: 1, ...(where && { where }) },
    },
  })
  const END = { type: 'loop:end', reason: 'stopped', why: 'It was stopped.' }
  const store = new LoopStore(project, home)
  const journal = (loopId: string, ...entries: object[]) => {
    own(loopId, project)
    const start = {
      ...{
        type: 'loop:start',
        loopId,
        list: 'TASKS.md',
        projectRoot: project,
        base: 'abc',
        baseBranch: null,
      },
      ...{ worktreeId: `loop-${loopId}`, settings: {} },
    }
    const written = store.journal(loopId)
    written.add(...([start, ...entries] as JournalEntry[]))
    written.close()
  }
  journal('over-1', END)
  journal('open-1')
  journal('runs-1', END)
  // Stopped while a machine had its turn: it is gone on with when the loop is resumed.
  journal('away-1', task('one', ['fleet']), END)
  journal('here-1', task('one', undefined), END)
  // Of a later version, perhaps: what it has begun is not known.
  journal('later-1', { type: 'later:kind' }, END)
  const ended: string[] = []
  const groups: { group: string; project: string | null }[] = [
    ...['over-1', 'open-1', 'runs-1', 'away-1', 'here-1', 'removed-1', 'later-1'].map(group => ({
      group,
      project,
    })),
    // A project whose disk is not there now, and one whose empty mount point is.
    { group: 'elsewhere-1', project: path.join(project, 'no-such-folder') },
    { group: 'unmounted-1', project: path.join(project, 'mount') },
    { group: 'unmounted-removed-1', project: path.join(project, 'mount') },
    // Taken from the broker after the file of this hub was lost.
    ...['over-2', 'open-2', 'unknown-1'].map(group => ({ group, project: null })),
  ]
  mkdirSync(path.join(project, 'mount'))
  own('unmounted-1', path.join(project, 'mount'))
  journal('over-2', END)
  journal('open-2')
  own('removed-1', project)
  const away = { groups: () => groups, end: async (group: string) => void ended.push(group) }
  const books = new LoopBooks(home, error => expect.unreachable(String(error)))
  await endGroups({ away, host: { home } }, books, loopId => loopId === 'runs-1')
  expect(ended).toEqual(['over-1', 'here-1', 'removed-1', 'unmounted-removed-1', 'over-2', 'unknown-1'])
  await endGroups({ host: { home } }, books, () => false)
})
