import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { LooseEvent } from '../support/canned-api.ts'
import { HOSTILE_STRINGS } from '../support/hostile.ts'
import { useDashboard } from '../support/page.ts'

const dashboard = useDashboard()

/** Whatever an agent or a file can be called, on every way into the page. */
function everywhere(text: string, i: number): LooseEvent[] {
  const toolUseId = `u${i}`
  return [
    { type: 'chat:message', messageId: `m${i}`, text },
    { type: 'chat:thinking', messageId: `h${i}`, text, final: true },
    {
      type: 'tool:start',
      toolUseId,
      name: text.slice(0, 60),
      input: { file_path: text, old_string: text, new_string: `${text}!` },
    },
    { type: 'tool:result', toolUseId, content: text, isError: i % 2 === 0 },
    { type: 'status', status: 'notice', level: 'warn', message: text },
    { type: 'session:error', code: 'api_error', error: text },
  ]
}

async function hasRun(page: Page): Promise<boolean> {
  return page.evaluate(() => '__ran' in window)
}

test(`${HOSTILE_STRINGS.length} hostile strings, on every way into the page: nothing runs`, async () => {
  expect(HOSTILE_STRINGS).toHaveLength(200)
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s0',
    scene: canned => {
      HOSTILE_STRINGS.forEach((text, i) => {
        canned.add({
          sessionId: `s${i}`,
          title: text,
          lastLine: text,
          projectRoot: `/code/${text.slice(0, 20)}`,
          lastTurn: 'completed',
        })
      })
      canned.files[''] = HOSTILE_STRINGS.map(name => ({ name, kind: 'file' as const }))
      canned.push('s0', [{ type: 'turn:start', message: HOSTILE_STRINGS[0] ?? '' }])
      canned.push('s0', HOSTILE_STRINGS.flatMap(everywhere))
      canned.push('s0', [
        { type: 'chat:message', messageId: 'last', text: 'the last one' },
        {
          type: 'permission:request',
          requestId: 'r',
          kind: 'unknown',
          toolName: HOSTILE_STRINGS[1] ?? '',
          input: {},
          raw: HOSTILE_STRINGS,
        },
      ])
    },
  })
  await page.getByText('the last one').waitFor()
  const region = page.getByRole('region', { name: 'Conversation' })
  // Every row is drawn once on the way up.
  let top = Number.POSITIVE_INFINITY
  for (let round = 0; round < 400 && top > 0; round++) {
    await region.evaluate(el => el.scrollBy(0, -800))
    await page.evaluate(
      () => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))),
    )
    top = await region.evaluate(el => el.scrollTop)
  }
  expect(top).toBe(0)
  for (const tab of ['Raw', 'Activity', 'Persona', 'Changes', 'Files'])
    await page.getByRole('tab', { name: tab }).click()
  await expect.poll(() => page.getByRole('treeitem').count()).toBe(HOSTILE_STRINGS.length)
  await page.getByRole('treeitem').nth(2).click()
  await page.locator('.file__text').waitFor()
  await page.keyboard.press('Control+k')
  await page.getByPlaceholder('Find a session or a command').fill('a')
  await expect.poll(() => page.getByRole('option').count()).toBeGreaterThan(10)
  await page.keyboard.press('Escape')
  await page.keyboard.press('f')
  await expect.poll(() => page.locator('.fleet-card').count()).toBe(HOSTILE_STRINGS.length)
  expect(await hasRun(page)).toBe(false)
  const links = await page
    .locator('a[href]')
    .evaluateAll(all => all.map(link => (link as HTMLAnchorElement).protocol))
  expect(links.filter(protocol => !['http:', 'https:', 'mailto:'].includes(protocol))).toEqual([])
  expect(await page.locator('iframe, object, embed, form[action], script:not([src]), base').count()).toBe(0)
  expect(complaints).toEqual([])
  expect(api.called('turns.send')).toEqual([])
  await close()
})
