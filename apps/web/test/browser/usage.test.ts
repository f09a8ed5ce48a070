import { expect, test } from 'vitest'
import { axeViolations } from '../support/axe.ts'
import { PHONE, useDashboard } from '../support/page.ts'
import { aMonth } from '../support/scenes.ts'
import { aUsage } from '../support/statuses.ts'

const dashboard = useDashboard()

test.each([{}, PHONE])(
  'usage over time is read with the keyboard, bar by bar, and exported %#',
  async size => {
    const { page, api, complaints, close } = await dashboard.open({ path: '/usage', scene: aMonth, ...size })
    const chart = page.getByRole('listbox', { name: 'Cost over time' })
    await chart.getByRole('option').nth(29).waitFor({ state: 'attached' })
    await page.getByText('≈ $38.70').waitFor()
    await page.getByText('without 2 deleted sessions ($1.50, 9k tokens)').waitFor()
    await chart.focus()
    const tip = page.locator('.chart__tip')
    expect(await tip.allInnerTexts()).toEqual([
      expect.stringMatching(/Monday 9 November\s+≈ \$31\.80\s+parser-kit\s+≈ \$24\.60\s+ledger\s+\$7\.20/),
    ])
    await page.keyboard.press('ArrowLeft')
    await tip.getByText('Sunday 8 November').waitFor()
    expect(await chart.getByRole('option', { selected: true }).textContent()).toBe('Sunday 8 November: $6.90')
    await page.keyboard.press('Home')
    await tip.getByText('Sunday 11 October').waitFor()
    await page.keyboard.press('Escape')
    await tip.waitFor({ state: 'detached' })
    expect(await axeViolations(page)).toEqual([])

    await page.getByRole('radio', { name: 'Agent' }).click()
    await page.getByText('As a table').click()
    const row = page.getByRole('row', { name: /Monday 9 November/ })
    expect(await row.getByRole('cell').allInnerTexts()).toEqual(['≈ $24.60', '$7.20', '≈ $31.80'])
    await page.getByRole('radio', { name: 'Tokens' }).click()
    await page.getByRole('row', { name: '84k' }).waitFor()
    expect(await row.getByRole('cell').allInnerTexts()).toEqual(['80k', '4k', '84k'])
    const plans = page.getByRole('region', { name: 'Limits of your plans' })
    await plans.getByText('resets on 2199-01-01').waitFor()
    await plans.getByText('began again since the agent last said').waitFor()
    expect(await plans.getByRole('progressbar').count()).toBe(1)

    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV' }).click(),
    ])
    expect(file.suggestedFilename()).toBe('usage.csv')
    const overhang = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    expect(overhang).toBe(0)
    await page.getByRole('radio', { name: 'Today' }).click()
    // The chart of 30 days has more of them.
    const hours = page.getByRole('listbox', { name: /over time/ }).getByRole('option')
    await expect.poll(() => hours.count()).toBe(24)
    expect(api.called('sessions.usage').map(input => (input as { days: number }).days)).toEqual(
      expect.arrayContaining([30, 1]),
    )
    expect(complaints).toEqual([])
    await close()
  },
)

test('a bar that is pointed at says what it is, and a time without any turn says so', async () => {
  const { page, api, close } = await dashboard.open({ path: '/usage', scene: aMonth })
  const chart = page.getByRole('listbox', { name: 'Cost over time' })
  const box = await chart.boundingBox()
  await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) - 4, (box?.y ?? 0) + 60)
  await page.locator('.chart__tip').getByText('Monday 9 November').waitFor()
  await page.mouse.move(4, 4)
  await page.locator('.chart__tip').waitFor({ state: 'detached' })
  api.usage = days => aUsage(days, [])
  await page.getByRole('radio', { name: '7 days' }).click()
  await page.getByText('Nothing was spent in this time').waitFor()
  expect(await axeViolations(page)).toEqual([])
  await close()
})

test('home says what was spent today and what is left of the plan, and leads to the rest', async () => {
  const { page, complaints, close } = await dashboard.open({ scene: aMonth })
  const today = page.getByRole('region', { name: 'Today' })
  await today.getByText('$14.82').waitFor()
  await today.getByText('62 %').waitFor()
  await today.getByRole('link').click()
  await page.waitForURL('**/usage')
  expect(complaints).toEqual([])
  await close()
})
