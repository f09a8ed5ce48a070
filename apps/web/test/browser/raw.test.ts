import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { axeViolations, axeViolationsInBothSchemes } from '../support/axe.ts'
import type { CannedApi } from '../support/canned-api.ts'
import { HOSTILE_STRINGS } from '../support/hostile.ts'
import { type OpenOptions, useDashboard } from '../support/page.ts'
import { aRealRun } from '../support/real-run.ts'

const dashboard = useDashboard()

const aRun = (api: CannedApi) => {
  api.add({ sessionId: 's1', lastTurn: 'completed' })
  aRealRun(api)
}

async function openRaw(options: OpenOptions = {}) {
  const opened = await dashboard.open({ path: '/s/s1', scene: aRun, ...options })
  await opened.page.getByRole('tab', { name: 'Raw' }).click()
  await opened.page.getByRole('region', { name: 'UI events' }).waitFor()
  return opened
}

async function openWide(options: OpenOptions = {}) {
  const opened = await openRaw(options)
  await opened.page.getByRole('button', { name: 'Side by side' }).click()
  await opened.page.getByRole('dialog', { name: 'Raw' }).waitFor()
  return opened
}

const events = (page: Page) => page.getByRole('group', { name: 'UI events' })
const lines = (page: Page) => page.getByRole('group', { name: 'Native lines' })
/** Again until it is there: what was chosen a moment ago may still be on its way into view. */
async function scrolledTo(column: ReturnType<typeof events>, where: 'start' | 'end', name: RegExp) {
  const isSeen = async () => {
    await column
      .getByRole('region')
      .evaluate((el, at) => el.scrollTo(0, at === 'end' ? el.scrollHeight : 0), where)
    return column.getByRole('button', { name }).isVisible()
  }
  await expect.poll(isSeen).toBe(true)
}

const chosenIn = (column: ReturnType<typeof events>) => column.locator('.raw__row--on')

test('side by side, light and dark: an event and the line it came from, and back', async () => {
  const { page, complaints, close } = await openWide()
  await events(page)
    .getByRole('button', { name: /tool:result/ })
    .first()
    .click()
  await page.getByText('The event came from this line.').waitFor()
  const line = chosenIn(lines(page))
  await line.waitFor()
  expect(await line.textContent()).toMatch(/^user.*tool_result/)
  expect(await page.getByRole('region', { name: /UI event \d+ as JSON/ }).textContent()).toContain(
    '"toolUseId"',
  )
  expect(await page.getByRole('region', { name: /Native line as/ }).textContent()).toContain('"tool_use_id"')
  expect(await axeViolationsInBothSchemes(page)).toEqual([])

  await scrolledTo(lines(page), 'end', /^result/)
  await lines(page)
    .getByRole('button', { name: /^result/ })
    .click()
  await expect.poll(() => chosenIn(events(page)).textContent()).toMatch(/chat:complete|session:complete/)
  await page.getByText('The event came from this line.').waitFor()
  await scrolledTo(events(page), 'start', /turn:start/)
  await events(page)
    .getByRole('button', { name: /turn:start/ })
    .click()
  await page.getByText('No line says this by itself').waitFor()
  expect(complaints).toEqual([])
  await close()
})

test('one filter for both sides: words, words that must not be there, types', async () => {
  const { page, close } = await openWide()
  const filter = page.getByRole('searchbox', { name: 'Filter events and lines' })
  const counts = async () => [
    await events(page).locator('.raw__row').count(),
    await lines(page).locator('.raw__row').count(),
  ]
  await filter.fill('type:result')
  await expect
    .poll(async () => (await lines(page).locator('.raw__type').allTextContents()).join())
    .toMatch(/^result[^,]*$/)
  expect(new Set(await events(page).locator('.raw__type').allTextContents())).toEqual(
    new Set(['tool:result']),
  )
  await filter.fill('no such words anywhere')
  await page.getByText('No event matches').waitFor()
  await page.getByText('No line matches').waitFor()
  expect(await counts()).toEqual([0, 0])
  await close()
})

test('by keyboard alone: up and down, over to the other side, and a copy of the line as it was printed', async () => {
  const { page, api, complaints, close } = await openWide({
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  await page.getByRole('region', { name: 'Native lines' }).focus()
  await page.keyboard.press('Home')
  await expect.poll(() => chosenIn(lines(page)).textContent()).toMatch(/^system\/init/)
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-key') ?? null)
  await expect.poll(focused).toBe(api.native.get('s1')?.[0]?.id)
  await page.keyboard.press('ArrowDown')
  await expect.poll(focused).toBe(api.native.get('s1')?.[1]?.id)
  await page.keyboard.press('End')
  await expect.poll(focused).toBe(api.native.get('s1')?.at(-1)?.id)
  await page.getByText('The event came from this line.').waitFor()
  await page.keyboard.press('ArrowLeft')
  await expect.poll(focused).toMatch(/^\d+$/)
  await page.getByRole('button', { name: 'Copy Native line' }).click()
  await expect
    .poll(() => page.evaluate(() => navigator.clipboard.readText()))
    .toBe(api.native.get('s1')?.at(-1)?.text)
  await page.getByRole('button', { name: 'Close the details' }).click()
  expect(await page.getByRole('region', { name: /Native line as/ }).count()).toBe(0)
  expect(complaints).toEqual([])
  await close()
})

test('in the panel and on a phone there is one side, and a switch; the chosen row is in view on both', async () => {
  const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }
  const { page, close } = await dashboard.open({ path: '/s/s1', scene: aRun, ...phone })
  await page.getByRole('button', { name: 'Changes and more' }).click()
  await page.getByRole('tab', { name: 'Raw' }).click()
  await events(page)
    .getByRole('button', { name: /tool:start/ })
    .first()
    .click()
  await page.getByText('The event came from this line.').waitFor()
  expect(await lines(page).isVisible()).toBe(false)
  expect(await page.getByRole('button', { name: 'Side by side' }).isVisible()).toBe(false)
  await page.getByRole('button', { name: 'Native lines' }).click()
  await expect.poll(() => chosenIn(lines(page)).isVisible()).toBe(true)
  expect(await events(page).isVisible()).toBe(false)
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)
  expect(await axeViolations(page)).toEqual([])
  await close()
})

test('what is printed while the turn runs comes by itself; a line that is not finished is marked until it is', async () => {
  const { page, api, close } = await openWide({
    scene: canned => {
      canned.add({ sessionId: 's1', phase: 'running' })
      canned.push('s1', [{ type: 'turn:start', message: 'Go' }])
    },
  })
  await page.getByText('No raw log').waitFor()
  api.print('s1', ['{"type":"system","subtype":"init"}'])
  // No event tells of it: it is found all the same.
  await lines(page)
    .getByRole('button', { name: /^system\/init/ })
    .waitFor()
  api.print('s1', ['{"type":"assis'], { torn: true })
  await lines(page).getByText('not finished').waitFor()
  const all = api.native.get('s1') ?? []
  api.native.set('s1', all.slice(0, -1))
  api.print('s1', ['{"type":"assistant","message":{"id":"m"}}'])
  api.push('s1', [{ type: 'chat:message', messageId: 'm#0', text: 'Hello' }])
  await lines(page)
    .getByRole('button', { name: /^assistant/ })
    .waitFor()
  expect(await lines(page).locator('.raw__row').count()).toBe(2)
  await events(page)
    .getByRole('button', { name: /chat:message/ })
    .waitFor()
  await close()
})

test('5,000 lines: only what is seen is drawn, the end first, and earlier ones on demand', async () => {
  const { page, api, close } = await openWide({
    scene: canned => {
      canned.add({ sessionId: 's1', lastTurn: 'completed' })
      canned.print(
        's1',
        Array.from({ length: 5000 }, (_, i) => `{"type":"line","number":${i}}`),
      )
    },
  })
  await lines(page).getByText('"number":4999').waitFor()
  expect(await lines(page).locator('.raw__row').count()).toBeLessThan(120)
  const list = page.getByRole('region', { name: 'Native lines' })
  await list.evaluate(el => el.scrollTo(0, 0))
  await lines(page).getByRole('button', { name: 'Earlier' }).click()
  await lines(page).getByText('"number":4799').waitFor()
  expect(api.called('sessions.nativeLines')).toContainEqual({
    ...{ sessionId: 's1', before: api.native.get('s1')?.[4800]?.id },
  })
  await lines(page).getByRole('button', { name: 'Latest' }).click()
  await lines(page).getByText('"number":4999').waitFor()
  await close()
})

test('a line that is too long for the list is read on demand, piece by piece, to its end', async () => {
  const { page, api, complaints, close } = await openWide({
    scene: canned => {
      canned.add({ sessionId: 's1', lastTurn: 'completed' })
      canned.print('s1', [
        JSON.stringify({ type: 'user', content: 'x'.repeat(500_000), last: 'the very end' }),
      ])
    },
  })
  await lines(page).getByRole('button', { name: /user/ }).click()
  const detail = page.locator('.raw__detail')
  await detail.getByText('the first 64 KB are shown').waitFor()
  expect(await detail.getByText('the very end').count()).toBe(0)
  api.faults.set('sessions.nativeLine', 'Too many open files to use the raw log.')
  await detail.getByRole('button', { name: 'Show more' }).click()
  await detail.getByText('Too many open files').waitFor()
  expect(await axeViolations(page)).toEqual([])
  api.faults.clear()
  await detail.getByRole('button', { name: 'Show more' }).click()
  await detail.getByText('the first 256 KB are shown').waitFor()
  await detail.getByRole('button', { name: 'Show more' }).click()
  await detail.getByText('"last": "the very end"').waitFor()
  expect(await detail.getByRole('button', { name: 'Show more' }).count()).toBe(0)
  expect(api.called('sessions.nativeLine')).toHaveLength(3)
  expect(complaints).toEqual([])
  await close()
})

test('a session without a raw log says so, and one that cannot be read says why, and is tried again', async () => {
  const imported = (canned: CannedApi) => {
    canned.add({ sessionId: 's1', lastTurn: 'completed' })
    canned.push('s1', [
      { type: 'turn:start', message: 'Go' },
      { type: 'turn:end', reason: 'completed' },
    ])
  }
  const { page, api, close } = await openWide({
    scene: canned => {
      imported(canned)
      canned.faults.set('sessions.nativeLines', 'Too many open files to use the raw log.')
    },
  })
  await lines(page).getByRole('alert').filter({ hasText: 'Too many open files' }).waitFor()
  // The page reads again by itself, too, after what happened last: then there is no such button any more.
  const again = await lines(page).getByRole('button', { name: 'Try again' }).elementHandle()
  api.faults.clear()
  await again?.evaluate(button => (button as HTMLButtonElement).click())
  await page.getByText('Imported sessions, and what a fork took over, have none.').waitFor()
  expect(await lines(page).getByRole('alert').count()).toBe(0)
  await events(page)
    .getByRole('button', { name: /turn:start/ })
    .click()
  await page.getByText('There is no native line for it.').waitFor()
  await close()
})

test(`${HOSTILE_STRINGS.length} hostile strings as lines: they are text`, async () => {
  const { page, complaints, close } = await openWide({
    scene: canned => {
      canned.add({ sessionId: 's1', lastTurn: 'completed' })
      canned.print('s1', HOSTILE_STRINGS)
      canned.print(
        's1',
        HOSTILE_STRINGS.map(text => JSON.stringify({ type: text, [text]: text })),
      )
    },
  })
  await lines(page).locator('.raw__row').first().waitFor()
  await page.getByRole('region', { name: 'Native lines' }).focus()
  for (let i = 0; i < 60; i++) await page.keyboard.press('ArrowUp')
  await page.getByRole('region', { name: /Native line as/ }).waitFor()
  expect(await page.evaluate(() => '__ran' in window)).toBe(false)
  expect(complaints).toEqual([])
  await close()
})
