import { expect, test } from 'vitest'
import type { FleetInfo, Machine } from '../../src/state/server/answers.ts'
import { axeViolationsInBothSchemes } from '../support/axe.ts'
import { choose, picker } from '../support/choose.ts'
import { BUILD, HUB } from '../support/machines.ts'
import { PHONE, useDashboard } from '../support/page.ts'

const dashboard = useDashboard()

const INFO: FleetInfo = {
  ...{ machine: 'hub', role: 'hub', url: 'tls://192.0.2.10:4222', connected: true, problem: null },
  ...{ readOnly: null, hasBroker: true, fingerprint: 'AB:CD', copies: { sends: true, isFixed: false } },
}
const AWAY: Machine = { ...BUILD, machine: 'build-2', state: 'away', heardSecondsAgo: 754 }
const REVOKED: Machine = { ...AWAY, machine: 'old-laptop', hasKey: false, key: null }

test.each([{}, PHONE])(
  'this machine stops and starts to send copies, as the server confirms it %#',
  async size => {
    const { page, api, complaints, close } = await dashboard.open({
      path: '/settings/machines',
      scene: canned => {
        canned.machines = [HUB, BUILD, AWAY, REVOKED]
        canned.fleetInfo = INFO
      },
      ...size,
    })
    const copies = page.getByRole('checkbox', { name: /^Send copies to the hubs after each turn/ })
    await page.getByText('This machine, hub, is a hub of the fleet').waitFor()
    await page
      .locator('.machine')
      .filter({ hasText: 'build-2' })
      .getByText('away, heard 13 min ago')
      .waitFor()
    await page.locator('.machine').filter({ hasText: 'old-laptop' }).getByText('rights taken away').waitFor()
    // Of the others it is their own choice.
    expect(await copies.count()).toBe(1)
    expect(await copies.isChecked()).toBe(true)
    expect(await axeViolationsInBothSchemes(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)

    api.faults.set('fleet.sendCopies', 'The disk is full.')
    await copies.click()
    await page.getByRole('alert').getByText('The disk is full.').waitFor()
    expect(await copies.isChecked()).toBe(true)
    api.faults.delete('fleet.sendCopies')
    await copies.click()
    await expect.poll(() => copies.isChecked()).toBe(false)
    await copies.click()
    await expect.poll(() => copies.isChecked()).toBe(true)
    expect(api.called('fleet.sendCopies')).toEqual([{ send: false }, { send: false }, { send: true }])
    expect(complaints).toEqual([])
    await close()
  },
)

test('a machine that is not let in says why and what to type, and a copy switch that a flag decides cannot be used', async () => {
  const { page, complaints, close } = await dashboard.open({
    path: '/settings/machines',
    scene: canned => {
      canned.machines = [{ ...BUILD, isThis: true, key: null, hasKey: null }]
      canned.fleetInfo = {
        ...{ ...INFO, machine: 'build-1', role: 'worker', connected: false, hasBroker: false },
        problem: 'The broker does not let this machine in. To join again: `chirality fleet leave` here.',
        copies: { sends: false, isFixed: true },
      }
    },
  })
  const state = page.getByRole('status').filter({ hasText: 'This machine, build-1, is not connected' })
  expect(await state.locator('code').allTextContents()).toEqual(['chirality fleet leave'])
  await page.getByText('This server was started with --no-copies.').waitFor()
  expect(await page.getByRole('checkbox', { name: /^Send copies/ }).isDisabled()).toBe(true)
  expect(await axeViolationsInBothSchemes(page)).toEqual([])
  expect(complaints).toEqual([])
  await close()
})

test('a tool server that is typed for one project is not saved in another that is chosen meanwhile', async () => {
  const { page, api, complaints, close } = await dashboard.open({ path: '/settings/tools' })
  await page.getByRole('button', { name: 'Add a server' }).click()
  const form = page.getByRole('form', { name: 'New tool server' })
  await form.getByLabel('Name').fill('ledger')
  await form.getByLabel('Command').fill('ledger-mcp')
  const sheet = page.locator('.sheet')
  await choose(sheet, 'Project', 'demo')
  await form.waitFor({ state: 'detached' })
  // Nor is it back, half filled, with its own project.
  await choose(sheet, 'Project', 'parser-kit')
  await picker(sheet, 'Project').getByText('parser-kit').waitFor()
  expect(await form.count()).toBe(0)
  await page.getByRole('button', { name: 'Edit tracker' }).click()
  await page.getByRole('form', { name: 'Edit tracker' }).getByRole('button', { name: 'Save' }).click()
  await expect
    .poll(() => api.called('toolServers.save'))
    .toMatchObject([{ project: '/code/parser-kit', name: 'tracker' }])
  expect(complaints).toEqual([])
  await close()
})

test.each([{}, PHONE])(
  'the first budget of a project is set, refused if it is no number, and taken away %#',
  async size => {
    const { page, api, complaints, close } = await dashboard.open({
      path: '/settings/budgets',
      scene: canned => {
        const there = { machine: 'build-1', usd: 1.5, tokens: 10_000, minutes: 3, turns: 2, at: null }
        canned.budget = { ...canned.budget, elsewhere: [there] }
      },
      ...size,
    })
    const limit = page.getByRole('textbox', { name: 'Limit: Dollars' })
    // What other machines spent counts.
    await page.getByText('$5.00 so far, no limit').waitFor()
    expect(await page.getByRole('progressbar').count()).toBe(0)
    await limit.fill('many')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').getByText('Dollars: a number above 0, or empty for no limit.').waitFor()
    expect(api.called('budgets.set')).toEqual([])
    await limit.fill('20')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('progressbar', { name: '$5.00 of $20.00' }).waitFor()
    expect(api.called('budgets.set')).toMatchObject([{ maxCostUsd: 20 }])
    expect(await axeViolationsInBothSchemes(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)
    await limit.fill('')
    await limit.press('Enter')
    await page.getByText('$5.00 so far, no limit').waitFor()
    expect(complaints).toEqual([])
    await close()
  },
)

test('an address of the settings that does not exist says so, above the section that is shown in its place', async () => {
  const { page, complaints, close } = await dashboard.open({ path: '/settings/tool-servers' })
  await page.getByRole('alert').getByText('There is no section “tool-servers”').waitFor()
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor()
  await page.getByRole('navigation', { name: 'Settings' }).getByText('Tool servers').click()
  await page.getByRole('heading', { name: 'Tool servers', level: 1 }).waitFor()
  expect(await page.getByText('There is no section').count()).toBe(0)
  expect(complaints).toEqual([])
  await close()
})
