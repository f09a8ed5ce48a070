import { expect, test } from 'vitest'
import type { LoopPlan, ScheduleRun, ScheduleWithRuns } from '../../src/state/server/answers.ts'
import { axeViolations, axeViolationsInBothSchemes } from '../support/axe.ts'
import { choose } from '../support/choose.ts'
import { useDashboard } from '../support/page.ts'
import { aBusyDay } from '../support/scenes.ts'

const dashboard = useDashboard()
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

const FAILED: ScheduleRun = {
  ...{ run: 'r1', due: '2026-06-02T01:00:00.000Z', why: 'due', claimedAt: '2026-06-02T01:00:01.000Z' },
  sessionId: 's1',
  receipt: {
    ...{ outcome: 'failed', exitCode: 1, words: 'The log could not be read.\nMore.', sessions: ['s1'] },
    ...{ loopId: null, harness: 'claude-code', model: null, costUsd: 0.4, costIsEstimate: false, tokens: 9 },
    endedAt: '2026-06-02T01:02:01.000Z',
  },
}
const NIGHTLY: ScheduleWithRuns = {
  ...{ id: 'nightly-1a2b3c', name: 'Nightly check', project: '/code/parser-kit', addedAt: '' },
  what: { kind: 'prompt', prompt: 'Look at the logs of the night.', worktree: true },
  when: { kind: 'cron', cron: '0 3 * * *', timeZone: 'Europe/Berlin' },
  ...{ missed: 'skip', overlap: 'skip', answerMinutes: 30, keepRuns: 10, budgetUsd: 2 },
  ...{ isPaused: false, isRunning: false, words: 'every day at 03:00 (Europe/Berlin)', skipped: null },
  upcoming: ['2026-06-03T01:00:00.000Z', '2026-06-04T01:00:00.000Z'],
  ...{ next: '2026-06-03T01:00:00.000Z', last: FAILED, runs: [FAILED], earlier: { runs: 40, usd: 12 } },
}

const PLAN: LoopPlan = {
  ...{ list: 'TASKS.md', done: 0, setup: ['npm ci'], checks: ['npm test'], notices: [], branch: 'main' },
  limits: {
    ...{ budgetUsd: null, maxIterations: null, maxMinutes: null, parallel: 1, waitForLimits: 0 },
    ...{ handOver: false, nextHarnesses: [] },
  },
  ...{ tasks: [], openLoop: null, fingerprint: 'a mark', isAllowed: false, problems: [] },
}

test.each([{}, PHONE])(
  'schedules are read, run, paused, changed, added and removed on their page %#',
  async size => {
    const { page, api, complaints, close } = await dashboard.open({
      path: '/schedules',
      scene: canned => {
        aBusyDay(canned)
        canned.schedules = [NIGHTLY]
        canned.taskFiles = [{ path: 'TASKS.md', open: 2, done: 0, problem: null }]
        canned.loopPlan = PLAN
      },
      ...size,
    })
    const row = page.getByRole('button', { name: /Nightly check/ })
    await row.getByText('every day at 03:00 (Europe/Berlin)').waitFor()
    // In the time zone of the schedule, whatever that of the browser is.
    expect(await row.textContent()).toMatch(/next .*0?3:00/)
    await row.focus()
    await page.keyboard.press('Enter')
    await page.getByText('The log could not be read.').waitFor()
    await page.getByText('and 40 runs before, $12.00').waitFor()
    expect(await page.getByRole('link', { name: /^Session of/ }).getAttribute('href')).toBe('/s/s1')
    expect(await axeViolationsInBothSchemes(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)

    await page.getByRole('button', { name: 'Pause' }).click()
    await row.getByText('paused').waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await row.getByText(/^next/).waitFor()
    // Of another browser, or of the server itself: it is heard of without a reload.
    api.schedules = [{ ...NIGHTLY, name: 'Nightly look' }]
    api.tellOfSchedules()
    await page.getByRole('button', { name: /Nightly look/ }).waitFor()

    await page.getByRole('button', { name: 'Edit…' }).click()
    const edit = page.getByRole('dialog', { name: 'Edit Nightly look' })
    await edit.getByText('Monday to Friday at 06:00').waitFor()
    await edit.getByLabel('Prompt', { exact: true }).fill('Look at both logs.')
    await edit.getByText('Limits, missed times and worktrees').click()
    await edit.getByLabel('Keep worktrees').fill('0')
    expect(await axeViolations(page)).toEqual([])
    await edit.getByRole('button', { name: 'Save' }).click()
    await edit.getByRole('alert').getByText('from 1 to 50').waitFor()
    await edit.getByLabel('Keep worktrees').fill('5')
    await edit.getByRole('button', { name: 'Save' }).click()
    await edit.waitFor({ state: 'detached' })
    await page.getByText('Look at both logs.').waitFor()
    expect(api.called('schedules.change')).toMatchObject([
      { id: NIGHTLY.id, budgetUsd: 2, keepRuns: 5, what: { prompt: 'Look at both logs.', worktree: true } },
    ])

    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByRole('button', { name: 'Runs now' }).waitFor()
    await page.getByRole('button', { name: 'Remove…' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Remove…' }).waitFor()

    await page.getByRole('button', { name: 'Add a schedule…' }).click()
    const add = page.getByRole('dialog', { name: 'Add a schedule' })
    await add.getByRole('radio', { name: 'A task list' }).click()
    await choose(add, 'Task list', 'TASKS.md')
    // What its runs would do is seen, and allowed, before it is added.
    await add.getByText('npm ci').waitFor()
    const addButton = add.getByRole('button', { name: 'Add', exact: true })
    expect(await addButton.isDisabled()).toBe(true)
    await add.getByLabel(/^Each run may use these commands/).check()
    await add.getByLabel('Hand over to').fill('off')
    await add.getByRole('radio', { name: 'Every' }).click()
    await add.getByRole('textbox', { name: 'Every' }).fill('2')
    expect(await axeViolations(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)
    await add.getByRole('button', { name: 'Add', exact: true }).click()
    await add.waitFor({ state: 'detached' })
    expect(api.called('schedules.add')).toMatchObject([
      {
        ...{ name: 'TASKS.md', project: '/code/parser-kit' },
        what: { kind: 'loop', list: 'TASKS.md', commands: ['npm ci', 'npm test'], nextHarnesses: [] },
        when: { kind: 'every', minutes: 120 },
      },
    ])
    await page.getByRole('button', { name: /TASKS\.md/ }).waitFor()

    await page.getByRole('button', { name: 'Remove…' }).first().click()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByRole('button', { name: /Nightly look/ }).waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
    await close()
  },
)
