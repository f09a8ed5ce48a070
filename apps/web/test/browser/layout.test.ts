import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { axeViolationsInBothSchemes } from '../support/axe.ts'
import { useDashboard } from '../support/page.ts'
import { aBusyDay, aQuestion, aSubAgent } from '../support/scenes.ts'

const dashboard = useDashboard()
const PANES = ['Activity', 'Changes', 'Files', 'Raw', 'Persona'] as const
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true } as const
const TABLET = { viewport: { width: 1024, height: 768 } } as const

/** How far anything in it reaches over its right edge. What scrolls by itself may. */
async function overhang(page: Page, selector: string): Promise<number> {
  return page.locator(selector).evaluate(el => Math.max(0, el.scrollWidth - el.clientWidth))
}

test('where there is no room for a third column it is a sheet, by button and by number', async () => {
  const { page, complaints, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay, ...TABLET })
  await page.getByText('Run this command?').waitFor()
  await page.getByRole('button', { name: 'Changes and more' }).click()
  const sheet = page.getByRole('dialog', { name: 'Beside the conversation' })
  await sheet.getByRole('group', { name: 'Changes in src/ndjson.test.ts' }).waitFor()
  await sheet.getByRole('button', { name: 'Close' }).click()
  await sheet.waitFor({ state: 'detached' })
  await page.keyboard.press('3')
  await sheet.getByRole('treeitem', { name: 'src' }).waitFor()
  await page.keyboard.press('1')
  await sheet.getByRole('region', { name: 'Tool calls' }).waitFor()
  // The sheet is filled to its end.
  const body = await sheet.getByRole('tabpanel').boundingBox()
  expect((body?.y ?? 0) + (body?.height ?? 0)).toBe(page.viewportSize()?.height)
  expect(complaints).toEqual([])
  await close()
})

test('no pane is wider than its place, whatever a command is called', async () => {
  const { page, close } = await dashboard.open({
    path: '/s/s1',
    scene: api => {
      aBusyDay(api)
      const command = 'for-each-of-the-many '.repeat(30)
      api.push('s1', [{ type: 'tool:start', toolUseId: 'w', name: 'Bash', input: { command } }])
    },
  })
  await page.getByText('Run this command?').waitFor()
  for (const pane of PANES) {
    await page.getByRole('tab', { name: pane }).click()
    await page.getByRole('tabpanel', { name: pane }).locator('> *').first().waitFor()
    expect(await overhang(page, '.panel__body'), pane).toBe(0)
  }
  await close()
})

test('a phone: every pane and dialog fits and is clean, light and dark', { timeout: 300_000 }, async () => {
  const { page, complaints, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay, ...PHONE })
  await page.getByText('Run this command?').waitFor()
  const check = async (name: string) => {
    expect(await page.evaluate(() => document.documentElement.scrollWidth), name).toBe(360)
    expect(await axeViolationsInBothSchemes(page), name).toEqual([])
  }
  await page.getByRole('button', { name: 'Changes and more' }).tap()
  for (const pane of PANES) {
    await page.getByRole('tab', { name: pane }).tap()
    await page.getByRole('tabpanel', { name: pane }).locator('> *').first().waitFor()
    await check(pane)
  }
  await page.getByRole('button', { name: 'Close' }).tap()
  await page.getByRole('button', { name: 'Sessions' }).tap()
  const sheet = page.getByRole('dialog', { name: 'Sessions' })
  await sheet.getByText('Upgrade vite to 8').waitFor()
  await check('sessions')
  await sheet.getByRole('button', { name: 'New session' }).tap()
  await page.getByRole('dialog', { name: 'New session' }).getByRole('button', { name: 'Start' }).waitFor()
  await check('new session')
  await page.getByRole('button', { name: 'Cancel' }).tap()
  await page.getByRole('button', { name: 'Find', exact: true }).tap()
  await page.getByPlaceholder('Find a session or a command').waitFor()
  await check('palette')
  await page.keyboard.press('Escape')
  for (const path of ['/', '/fleet', '/s/none']) {
    await page.goto(new URL(path, page.url()).href)
    await page.locator('main h1, main .empty').filter({ visible: true }).first().waitFor()
    await check(path)
  }
  expect(complaints).toEqual([])
  await close()
})

test.each([
  ['sub-agents', '/s/s3', aSubAgent, 'Looking at the callers'],
  ['a question', '/s/s2', aQuestion, 'The agent has a question'],
] as const)('%s on a phone and on a wide page: nothing that axe finds', async (_name, path, extra, text) => {
  for (const size of [PHONE, {}]) {
    const scene: typeof extra = api => {
      aBusyDay(api)
      extra(api)
    }
    const { page, close } = await dashboard.open({ path, scene, ...size })
    await page.getByText(text).waitFor()
    expect(await axeViolationsInBothSchemes(page)).toEqual([])
    await close()
  }
})
