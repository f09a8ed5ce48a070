import { expect, test } from 'vitest'
import { axeViolations } from '../support/axe.ts'
import { choose, picker } from '../support/choose.ts'
import { PHONE, useDashboard } from '../support/page.ts'
import { aBusyDay } from '../support/scenes.ts'

const dashboard = useDashboard()

const PLAN = {
  ...{ can: true, branches: ['main', 'next'], branch: 'main', commit: 'a'.repeat(40) },
  ...{ uncommitted: 2, hasLfsPointers: false, othersAtWork: 1 },
}

test('where another session works in the folder a worktree is offered first, and a choice is remembered', async () => {
  const scene: typeof aBusyDay = api => {
    aBusyDay(api)
    api.worktreePlan = PLAN
  }
  const { page, api, complaints, close } = await dashboard.open({ scene, ...PHONE })
  await picker(page, 'Works in').getByText('Own worktree').waitFor()
  expect(await axeViolations(page)).toEqual([])
  const field = page.getByRole('textbox', { name: 'What should be done?' })
  await field.fill('Fix the login\nand test it')
  await field.press('Enter')
  await page.waitForURL('**/s/s1')
  expect(api.called('sessions.create')).toMatchObject([{ title: 'Fix the login', worktree: {} }])

  await page.goto(page.url().replace(/\/s\/s1.*/, '/'))
  await choose(page, 'Works in', 'Project folder')
  await field.fill('Another')
  await field.press('Enter')
  await page.waitForURL('**/s/s1')
  expect(api.called('sessions.create')[1]).not.toHaveProperty('worktree')
  await page.goto(page.url().replace(/\/s\/s1.*/, '/'))
  await picker(page, 'Works in').getByText('Project folder').waitFor()
  expect(complaints).toEqual([])
  await close()
})

test('a session in a worktree shows its branch and path, and a removed worktree can be restored', async () => {
  const worktree = {
    ...{
      id: 'fix-1',
      folder: '/data/worktrees/fix-1/parser-kit',
      branch: 'chirality/fix',
      baseBranch: 'main',
    },
  }
  const scene: typeof aBusyDay = api => {
    aBusyDay(api)
    const status = api.statuses.get('s1')
    if (status) api.statuses.set('s1', { ...status, worktree })
    api.worktrees = [{ id: 'fix-1', condition: 'missing' }]
    api.overlaps = [
      {
        ...{ sessionId: 's2', title: 'The other one', branch: 'chirality/other', inSameFolder: false },
        files: [{ path: 'src/a.ts', conflicts: true, own: [[3, 5]], theirs: [[4, 4]] }],
      },
    ]
    api.files[''] = [{ name: 'a.ts', kind: 'file' }]
    api.texts['a.ts'] = 'one\ntwo\nthree\n'
    const turn = { sessionId: 's1', turnId: 't1', title: null, harness: 'codex', model: 'gpt', at: null }
    api.blames['a.ts'] = {
      path: 'a.ts',
      lines: [
        { line: 1, count: 1, origin: { kind: 'between', since: null, until: null } },
        { line: 2, count: 2, origin: { kind: 'turns', turns: ['s1/t1'], isSure: true } },
      ],
      turns: {
        's1/t1': { ...turn, prompt: 'Add two lines', costUsd: 0.12, costIsEstimate: false, isDeleted: false },
      },
    }
  }
  const { page, api, complaints, close } = await dashboard.open({ path: '/s/s1', scene })
  await page.locator('.top-bar').getByText('chirality/fix').waitFor()
  await expect
    .poll(() => api.called('files.diff')[0], { timeout: 30_000 })
    .toEqual({ project: '/code/parser-kit', sessionId: 's1' })
  await page.getByText('The folder of this session’s worktree is gone.').waitFor()
  expect(await axeViolations(page)).toEqual([])
  await page.getByRole('button', { name: 'Restore', exact: true }).press('Enter')
  await page.getByText('The folder of this session’s worktree is gone.').waitFor({ state: 'detached' })
  expect(api.called('worktrees.restore')).toEqual([{ id: 'fix-1' }])
  await page.getByRole('tab', { name: 'Files' }).click()
  await page.getByText(worktree.folder).waitFor()

  // Which turn wrote a line: by its number, or under the pointer.
  await page.getByRole('treeitem', { name: 'a.ts' }).click()
  expect(api.called('files.blame')).toEqual([])
  await page.getByRole('spinbutton', { name: 'Who wrote line' }).fill('1')
  const who = page.locator('.who-wrote')
  await who.getByText('Not in a turn').waitFor()
  await page.locator('.file__text code').hover({ position: { x: 5, y: 25 } })
  await who.getByText('$0.12 for the turn').waitFor()
  expect(await who.getByRole('link', { name: '“Add two lines”' }).getAttribute('href')).toBe('/s/s1/t/t1')
  expect(api.called('files.blame')).toEqual([{ project: '/code/parser-kit', sessionId: 's1', path: 'a.ts' }])

  // Another session changed the same lines.
  await page.getByText('1 other session changed 1 file of this one').press('Enter')
  await page.getByText('src/a.ts: here lines 3–5, there line 4 · would not merge').waitFor()
  expect(await page.getByRole('link', { name: 'The other one' }).getAttribute('href')).toBe('/s/s2')
  expect(await axeViolations(page)).toEqual([])
  expect(complaints).toEqual([])
  await close()
})
