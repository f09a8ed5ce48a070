import { expect, test } from 'vitest'
import type { CannedApi } from '../support/canned-api.ts'
import { choose, picker } from '../support/choose.ts'
import { useDashboard } from '../support/page.ts'
import { aBusyDay } from '../support/scenes.ts'

const dashboard = useDashboard()

const ROOT = '/code/parser-kit'
const THERE = '/home/build/parser-kit'

function aFleet(canned: CannedApi): void {
  aBusyDay(canned)
  canned.placement = {
    ...{ machine: 'build-1', why: 'the only machine that fits, 4 of 4 slots free' },
    offers: [
      { machine: 'hub', isThis: true, project: ROOT, problem: 'waits: no slot is free on hub' },
      { machine: 'build-1', isThis: false, project: THERE, problem: null },
      {
        machine: 'build-2',
        isThis: false,
        project: null,
        problem: 'waits: Codex is not installed on build-2',
      },
    ],
  }
}

test('a session of the start page begins on another machine, in a worktree of its own there', async () => {
  const { page, api, complaints, close } = await dashboard.open({ scene: aFleet })
  await choose(page, 'Where', 'build-1')
  await choose(page, 'Works in', 'Own worktree')
  await page.getByRole('textbox', { name: 'What should be done?' }).fill('Stream the export')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/s/s1')
  expect(api.called('sessions.create')).toMatchObject([
    { project: THERE, machine: 'build-1', worktree: {}, title: 'Stream the export' },
  ])
  expect(api.called('turns.send')).toMatchObject([{ sessionId: 's1', message: 'Stream the export' }])
  expect(complaints).toEqual([])
  await close()
})

test('in the dialog the folder there, or a worktree of its own, can be chosen for a session of another machine', async () => {
  const { page, api, complaints, close } = await dashboard.open({ scene: aFleet })
  await page.getByRole('button', { name: 'More choices: persona, effort, budget' }).click()
  const dialog = page.getByRole('dialog', { name: 'New session' })
  await choose(dialog, 'Where', 'Where there is room')
  await dialog.getByText('build-1: the only machine that fits').first().waitFor()
  await picker(dialog, 'Works in').getByText('Project folder').waitFor()
  await choose(dialog, 'Works in', 'Own worktree')
  await dialog.getByRole('button', { name: 'Start', exact: true }).click()
  await page.waitForURL('**/s/s1')
  expect(api.called('sessions.create')).toMatchObject([{ project: THERE, machine: 'build-1', worktree: {} }])
  expect(complaints).toEqual([])
  await close()
})
