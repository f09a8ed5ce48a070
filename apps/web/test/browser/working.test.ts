import { MODE_WORDS, PERMISSION_WORDS, THINKING_LEVELS } from '@chirality/core'
import { expect, test } from 'vitest'
import { axeViolations } from '../support/axe.ts'
import { choose, picker } from '../support/choose.ts'
import { aHarness } from '../support/harnesses.ts'
import { PHONE, useDashboard } from '../support/page.ts'
import { FIX_CRLF } from '../support/scenes.ts'

const dashboard = useDashboard()

test('what a session runs with is changed while it works, and it is said from when that holds', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ phase: 'running' })
      canned.push('s1', FIX_CRLF)
      const efforts = [...THINKING_LEVELS]
      const models = canned.harnesses[0]?.models ?? []
      canned.models = models.map(model => ({ ...model, efforts, supportsAutoMode: true }))
    },
  })
  await page.getByRole('button', { name: 'Stop', exact: false }).waitFor()
  // A mouse cannot swipe: no choice is cut off. Beside the open panel all of it is one line, from 1280 px on.
  for (const width of [1440, 1280, 1120]) {
    await page.setViewportSize({ width, height: 800 })
    await page.getByRole('complementary', { name: 'Beside the conversation' }).waitFor()
    expect(
      await page.locator('.chips').evaluate(row => row.scrollWidth - row.clientWidth),
      String(width),
    ).toBe(0)
    const middles = await page
      .locator('.composer__row .button, .composer__row .icon-button, .chips .picker')
      .evaluateAll(all => all.map(one => one.getBoundingClientRect()).map(({ y, height }) => y + height / 2))
    if (width >= 1280) expect(Math.max(...middles) - Math.min(...middles), String(width)).toBeLessThan(4)
  }
  const model = api.harnesses[0]?.models.find(({ isDefault }) => !isDefault)
  await choose(page, 'Model', model?.label ?? '')
  await choose(page, 'Effort', 'high')
  const said = page.getByRole('status').filter({ hasText: 'From the next message' })
  await said.getByText(`From the next message: model ${model?.label.toLowerCase()}, effort high`).waitFor()
  expect(api.called('sessions.configure')).toEqual([
    { sessionId: 's1', model: model?.id },
    { sessionId: 's1', thinking: 'high' },
  ])
  // This agent names more efforts, and decides by a model of its vendor: offered once it was asked.
  expect(api.called('harnesses.models')).toHaveLength(1)
  await choose(page, 'Effort', 'max')
  await choose(page, 'Permissions', PERMISSION_WORDS.auto.label)
  await expect.poll(() => api.called('turns.setPermissionMode')).toEqual([{ sessionId: 's1', mode: 'auto' }])
  // It changes its permissions at once: nothing is said of a next message.
  await choose(page, 'Permissions', PERMISSION_WORDS.plan.label)
  await expect
    .poll(() => api.called('turns.setPermissionMode').at(-1))
    .toEqual({ sessionId: 's1', mode: 'plan' })
  expect(await said.textContent()).not.toContain('permissions')
  api.modeFrom = 'next-turn'
  await choose(page, 'Permissions', PERMISSION_WORDS.acceptEdits.label)
  await said.getByText(/permissions edit freely/).waitFor()
  // By keyboard: the next choice in the row, opened with an arrow and taken with Enter.
  await picker(page, 'Mode').focus()
  await page.keyboard.press('ArrowDown')
  await page.getByRole('menuitemcheckbox', { name: MODE_WORDS.pipeline.label }).press('Enter')
  await expect
    .poll(() => api.called('sessions.configure').at(-1))
    .toEqual({ sessionId: 's1', mode: 'pipeline' })
  expect(await axeViolations(page)).toEqual([])
  expect(complaints).toEqual([])
  await close()
})

test('limits of a session show, are set in one place, and a wrong one is not sent', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ lastTurn: 'completed', budgetUsd: 5, costUsd: 1.2, tokens: 4000 }),
    ...PHONE,
  })
  await page.getByRole('button', { name: 'budget $5.00' }).tap()
  const dialog = page.getByRole('dialog', { name: 'Limits of this session' })
  expect(await dialog.getByLabel('Budget in $').inputValue()).toBe('5')
  await dialog.getByLabel('Step limit of a turn').fill('0')
  await dialog.getByRole('button', { name: 'Save' }).tap()
  await dialog.getByRole('alert').getByText('Step limit of a turn is a number above 0').waitFor()
  expect(api.called('budgets.setSession')).toEqual([])
  expect(await axeViolations(page)).toEqual([])
  await dialog.getByLabel('Step limit of a turn').fill('40')
  await dialog.getByLabel('Budget in $').fill('')
  await dialog.getByRole('button', { name: 'Save' }).tap()
  await dialog.waitFor({ state: 'detached' })
  const limits = { budgetUsd: null, budgetTokens: null, budgetMinutes: null }
  expect(api.called('budgets.setSession')).toEqual([{ sessionId: 's1', ...limits }])
  expect(api.called('sessions.configure')).toEqual([{ sessionId: 's1', maxTurns: 40 }])
  expect(complaints).toEqual([])
  await close()
})

test('Escape stops the turn when nothing else has it', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ phase: 'running' })
      canned.push('s1', FIX_CRLF)
    },
  })
  const stop = page.getByRole('button', { name: 'Stop' })
  await stop.waitFor()
  expect(await stop.evaluate(button => button.classList.contains('button--primary'))).toBe(true)
  await stop.getByText('Esc').waitFor()
  const field = page.getByRole('textbox', { name: 'Message' })
  const stops = () => api.called('turns.interrupt').length
  // A field in which something stands, a menu and a dialog have it first.
  await field.fill('half a thought')
  await page.keyboard.press('Escape')
  await expect.poll(() => field.evaluate(el => el === document.activeElement)).toBe(false)
  await picker(page, 'Model').click()
  await page.getByRole('menu').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('menu').waitFor({ state: 'detached' })
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Shortcuts' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog', { name: 'Shortcuts' }).waitFor({ state: 'detached' })
  expect(stops()).toBe(0)
  await field.fill('')
  await field.focus()
  await page.keyboard.press('Escape')
  await expect.poll(stops).toBe(1)
  // Once more is no force: that takes Shift.
  await page.getByText('Asked to stop…').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Shift+Escape')
  await expect.poll(() => api.called('turns.kill')).toHaveLength(1)
  expect(stops()).toBe(1)
  await close()
})

test('sessions are pinned, archived, deleted and brought back, one by one and many at once', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ sessionId: 's1', title: 'Alpha', lastTurn: 'completed' })
      canned.add({ sessionId: 's2', title: 'Beta', lastTurn: 'completed' })
      canned.add({ sessionId: 's3', title: 'Gamma', lastTurn: 'completed' })
    },
  })
  const sidebar = page.getByRole('navigation', { name: 'Sessions' })
  const menu = async (name: string, entry: string) => {
    await sidebar.getByRole('button', { name: `More for ${name}` }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: entry, exact: true }).click()
  }
  await menu('Gamma', 'Pin to the top')
  await sidebar.getByRole('region', { name: 'Pinned' }).getByText('Gamma').waitFor()
  await menu('Beta', 'Archive')
  await page.getByText('Archived "Beta".').waitFor()
  expect(await sidebar.getByText('Beta').count()).toBe(0)
  // Inline, by keyboard: Escape leaves the name as it is.
  await menu('Alpha', 'Rename')
  await page.getByRole('textbox', { name: 'Name' }).fill('Nothing')
  await page.keyboard.press('Escape')
  expect(api.called('sessions.rename')).toEqual([])

  // In the head of its page: by key, by the menu, and by two clicks on the name.
  const head = page.locator('.top-bar')
  await page.keyboard.press('r')
  await head.getByRole('textbox', { name: 'Name' }).fill('Alpha two')
  await page.keyboard.press('Enter')
  await head.getByRole('heading', { level: 1, name: 'Alpha two' }).dblclick()
  await head.getByRole('textbox', { name: 'Name' }).fill('Alpha')
  expect(await axeViolations(page)).toEqual([])
  await page.keyboard.press('Enter')
  await head.getByRole('heading', { level: 1, name: 'Alpha', exact: true }).waitFor()
  expect(api.called('sessions.rename').map(call => (call as { title: string }).title)).toEqual([
    ...['Alpha two', 'Alpha'],
  ])
  await page.keyboard.press('p')
  await sidebar.getByRole('region', { name: 'Pinned' }).getByText('Alpha').waitFor()
  await head.getByRole('img', { name: 'Pinned' }).waitFor()
  await head.getByRole('button', { name: 'Actions' }).press('Enter')
  await page.getByRole('menuitem', { name: 'Unpin' }).press('Enter')
  await head.getByRole('img', { name: 'Pinned' }).waitFor({ state: 'detached' })
  await page.keyboard.press('z')
  await page.getByText('Archived "Alpha".').waitFor()
  await head.getByRole('img', { name: 'Archived' }).waitFor()
  await page
    .getByRole('status')
    .filter({ hasText: 'Archived "Alpha".' })
    .getByRole('button', { name: 'Undo' })
    .click()
  await sidebar.getByText('Alpha').waitFor()

  await page.keyboard.press('f')
  await page.getByRole('radio', { name: 'Archived 1' }).click()
  const all = page.getByRole('region', { name: 'All sessions' })
  await all.getByText('Beta').waitFor()
  expect(await axeViolations(page)).toEqual([])
  await all.getByRole('button', { name: 'Select' }).click()
  await all.getByRole('checkbox', { name: /Beta/ }).check()
  await all.getByRole('button', { name: 'Back to the list' }).click()
  await sidebar.getByText('Beta').waitFor()

  await page.getByRole('radio', { name: 'Current' }).click()
  await all.getByRole('button', { name: 'Select' }).click()
  await all.getByRole('button', { name: 'All', exact: true }).click()
  await all.getByText('3 selected').waitFor()
  expect(await axeViolations(page)).toEqual([])
  await all.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('Deleted 3 sessions.').waitFor()
  await expect.poll(() => sidebar.getByRole('link').count()).toBe(0)
  const undo = page.getByRole('status').filter({ hasText: 'Deleted' }).getByRole('button', { name: 'Undo' })
  await undo.click()
  await sidebar.getByText('Alpha').waitFor()
  expect(api.called('sessions.discard')).toEqual([{ sessionIds: expect.arrayContaining(['s1', 's2', 's3']) }])
  expect(complaints).toEqual([])
  await close()
})

test('what was deleted or archived is taken back, also if a machine that is away kept some of it', async () => {
  const { page, complaints, close } = await dashboard.open({
    path: '/fleet',
    scene: canned => {
      const machine = { name: 'studio', state: 'away' as const }
      canned.add({ sessionId: 's1', title: 'Alpha', lastTurn: 'completed' })
      canned.add({ sessionId: 's2', title: 'Beta', lastTurn: 'completed', shelf: 'pinned' })
      canned.add({ sessionId: 's3', title: 'Gamma', lastTurn: 'completed', machine })
    },
  })
  const all = page.getByRole('region', { name: 'All sessions' })
  const alert = page.getByRole('alert').getByText(/^1 session not /)
  for (const [button, verb] of [
    ['Archive', 'Archived'],
    ['Delete', 'Deleted'],
  ] as const) {
    await all.getByRole('button', { name: 'Select' }).click()
    await all.getByRole('button', { name: 'All', exact: true }).click()
    await all.getByRole('button', { name: button, exact: true }).click()
    const words = `1 session not ${verb.toLowerCase()}. The machine studio cannot be reached now. Nothing was done.`
    await page.getByText(words).waitFor()
    const told = page.getByRole('status').filter({ hasText: `${verb} 2 sessions.` })
    await all.getByText('Gamma').waitFor()
    await expect.poll(() => all.getByRole('link').count()).toBe(1)
    await told.getByRole('button', { name: 'Undo' }).click()
    await all.getByText('Alpha').waitFor()
    await all.getByRole('region', { name: 'Pinned' }).getByText('Beta').waitFor()
  }
  expect(await alert.count()).toBe(2)
  expect(complaints).toEqual([])
  await close()
})

test('a conversation of a terminal is taken over, on a phone', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    path: '/fleet',
    scene: canned => {
      canned.add({ sessionId: 's1', title: 'Alpha', lastTurn: 'completed' })
      canned.nativeSessions = ['Mend the parser', 'Write the docs'].map((title, i) => ({
        ...{ harness: 'claude-code', nativeSessionId: `n${i}`, cwd: '/code/parser-kit', title },
        updatedAt: '2026-01-01T11:00:00.000Z',
      }))
    },
    ...PHONE,
  })
  await page.getByRole('button', { name: 'Import…' }).tap()
  const dialog = page.getByRole('dialog', { name: 'Import a conversation' })
  await dialog.getByText('2 conversations held outside.').waitFor()
  expect(await axeViolations(page)).toEqual([])
  await dialog.getByRole('searchbox', { name: 'Find' }).fill('docs')
  api.faults.set('sessions.import', 'It is here already, as session s9.')
  await dialog.getByRole('button', { name: 'Import Write the docs' }).tap()
  await dialog.getByRole('alert').getByText('It is here already').waitFor()
  api.faults.delete('sessions.import')
  await dialog.getByRole('button', { name: 'Import Write the docs' }).tap()
  await page.waitForURL('**/s/s1')
  expect(api.called('sessions.import').at(-1)).toEqual({
    ...{ project: '/code/parser-kit', harness: 'claude-code', nativeSessionId: 'n1' },
  })
  expect(complaints).toEqual([])
  await close()
})

test('an agent that cannot tell its conversations is named with the reason, beside those of the others', async () => {
  const { page, complaints, close } = await dashboard.open({
    path: '/fleet',
    scene: canned => {
      canned.harnesses = [aHarness(), aHarness({ id: 'acp-opencode', name: 'OpenCode' })]
      canned.nativeFaults.set('acp-opencode', 'It ended with code 1: see `chirality doctor`.')
      canned.nativeSessions = [
        {
          ...{ harness: 'claude-code', nativeSessionId: 'n0', cwd: '/code/parser-kit' },
          ...{ title: 'Mend the parser', updatedAt: '2026-01-01T11:00:00.000Z' },
        },
      ]
    },
  })
  await page.getByRole('button', { name: 'Import…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Import a conversation' })
  await dialog.getByText('OpenCode: It ended with code 1: see chirality doctor.').waitFor()
  await dialog.getByText('1 conversation held outside.').waitFor()
  await dialog.getByRole('button', { name: 'Import Mend the parser' }).waitFor()
  // There are some, but not of these words.
  await dialog.getByRole('searchbox', { name: 'Find' }).fill('docs')
  await dialog.getByText('None has these words in its title.').waitFor()
  expect(await axeViolations(page)).toEqual([])
  expect(complaints).toEqual([])
  await close()
})

test('the processes of a session show what they take, and one that the agent started is ended, on a phone', async () => {
  const one = { parentPid: 1, ageMs: 65_000, cpuMs: 6500, memoryBytes: 52_428_800 }
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ phase: 'running', title: 'Alpha' })
      canned.processes = [
        { ...one, pid: 10, startedAt: '100', command: 'claude', role: 'agent' },
        { ...one, pid: 11, startedAt: '101', command: 'npm run dev', role: 'started' },
      ]
    },
    ...PHONE,
  })
  await page.getByRole('button', { name: 'Find' }).tap()
  await page.getByPlaceholder('Find a session or a command').fill('processes')
  await page.getByRole('option', { name: 'Processes of this session' }).tap()
  const dialog = page.getByRole('dialog', { name: 'Processes of this session' })
  const rows = dialog.getByRole('list', { name: 'Processes' }).getByRole('listitem')
  await rows
    .filter({ hasText: 'npm run dev' })
    .getByText(/50 MB · 1 min 5 s · pid 11/)
    .waitFor()
  expect(await rows.filter({ hasText: 'claude' }).getByRole('button').count()).toBe(0)
  expect(await axeViolations(page)).toEqual([])
  await dialog.getByRole('button', { name: 'End npm run dev' }).tap()
  await expect.poll(() => rows.count()).toBe(1)
  expect(api.called('system.endProcess')).toEqual([{ sessionId: 's1', pid: 11, startedAt: '101' }])
  expect(complaints).toEqual([])
  await close()
})
