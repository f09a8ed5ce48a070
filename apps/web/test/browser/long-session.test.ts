import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { CannedApi, LooseEvent } from '../support/canned-api.ts'
import { useDashboard } from '../support/page.ts'

const dashboard = useDashboard()

const TURNS = 600
const EVENTS_PER_TURN = 9

function aLongSession(api: CannedApi): void {
  for (let turn = 1; turn <= TURNS; turn++) {
    const text = `Answer ${turn}. ${'More of it. '.repeat((turn * 13) % 60)}`
    const events: LooseEvent[] = [
      { type: 'turn:start', message: `Question ${turn}` },
      { type: 'chat:thinking', messageId: `think-${turn}`, text: 'hm', final: true },
      { type: 'chat:delta', messageId: `say-${turn}`, text },
      { type: 'chat:message', messageId: `say-${turn}`, text },
      { type: 'tool:start', toolUseId: `tool-${turn}`, name: 'Bash', input: { command: `ls ${turn}` } },
      { type: 'tool:result', toolUseId: `tool-${turn}`, content: 'a.txt', isError: false },
      { type: 'chat:message', messageId: `more-${turn}`, text: 'That is all.' },
      { type: 'session:complete', costUsd: 0.01, usage: { input_tokens: 1, output_tokens: 1 } },
      { type: 'turn:end', reason: 'completed' },
    ]
    api.push('s1', events, `turn-${turn}`)
  }
  api.add({ phase: 'idle', lastSeq: api.logs.get('s1')?.length ?? 0 })
}

test('of a long log only the end is loaded, and pages before it as somebody scrolls there, without moving what is seen', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({})
      aLongSession(canned)
      // It answers with what comes after the end that is shown: nothing.
      canned.holdLogs()
    },
  })
  await page.getByText(`Question ${TURNS}`, { exact: true }).waitFor()
  api.releaseLogs()
  await page.locator('.chat__scroll').hover()
  await page.mouse.wheel(0, -2500)
  await page.getByRole('button', { name: 'Latest' }).waitFor()
  expect(historyCalls(api)).toBe(1)
  // What a person opened stays open, too.
  await page
    .getByRole('button', { name: /^Ran ls/ })
    .first()
    .click()
  const rows = await page.locator('.chat__row').evaluateAll(all => all.length)
  expect(rows).toBeGreaterThan(3)

  const releasePage = api.hold('sessions.history')
  await page.locator('.chat__scroll').evaluate(scroller => scroller.scrollTo(0, 0))
  await expect.poll(() => historyCalls(api)).toBe(2)
  const [first] = await rowsInView(page)
  releasePage()
  await page.waitForFunction(() => {
    const row = document.querySelector<HTMLElement>('.chat__row')
    return Number(row?.dataset.index) > 100
  })
  // The turn that the end began in the middle of is whole now, and has its cost below it.
  expect(await rowsInView(page)).toContain(first)

  const beginning = page.getByText('Question 1', { exact: true })
  await expect
    .poll(async () => {
      await page.locator('.chat__scroll').evaluate(scroller => scroller.scrollTo(0, 0))
      return beginning.count()
    })
    .toBe(1)
  await page.keyboard.press('End')
  await page.getByText(`Question ${TURNS}`, { exact: true }).waitFor()
  expect(complaints).toEqual([])
  await close()
})

test('a pane that lists everything loads all of a long log, and the conversation does not move', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({})
      aLongSession(canned)
      canned.holdLogs()
    },
  })
  await page.getByText(`Question ${TURNS}`, { exact: true }).waitFor()
  const before = await rowsInView(page)
  await page.getByRole('tab', { name: /Activity/ }).click()
  api.releaseLogs()
  await page.waitForFunction(() => {
    const row = document.querySelector<HTMLElement>('.chat__row')
    return Number(row?.dataset.index) > 1000
  })
  expect(await rowsInView(page)).toEqual(before)
  await close()
})

test('a link to a turn leads to where it starts, also when that comes with the rest', async () => {
  // The 400 events that are shown first begin in the middle of this one.
  const turn = TURNS - Math.floor(400 / EVENTS_PER_TURN)
  const { page, api, close } = await dashboard.open({
    path: `/s/s1/t/turn-${turn}`,
    scene: canned => {
      canned.add({})
      aLongSession(canned)
      canned.holdLogs()
    },
  })
  await page.getByText(`Question ${turn + 1}`, { exact: true }).waitFor()
  expect(await page.getByText(`Question ${turn}`, { exact: true }).count()).toBe(0)
  api.releaseLogs()
  await page.getByText(`Question ${turn}`, { exact: true }).waitFor()
  // Above it is the edge of the turn before.
  await expect.poll(async () => (await rowsInView(page))[1]).toContain(`Question ${turn}`)
  await close()
})

test('nothing that is seen moves while an answer is written', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ phase: 'running' })
      canned.push('s1', [
        { type: 'turn:start', message: 'go' },
        { type: 'chat:delta', messageId: 'm0', text: 'It begins. ' },
      ])
    },
  })
  await page.getByText('It begins.').waitFor()
  // Letters get another width when their font comes, which has nothing to do with the answer.
  await page.evaluate(() => document.fonts.ready.then(() => undefined))
  await page.evaluate(() => {
    const moved: Shift[] = []
    interface Shift extends PerformanceEntry {
      value: number
      sources: { node: Element | null }[]
    }
    Object.assign(window, {
      moved: () =>
        moved.map(({ value, sources }) => ({
          value,
          what: sources.map(({ node }) => node?.outerHTML.slice(0, 200)),
        })),
    })
    new PerformanceObserver(list => {
      for (const entry of list.getEntries()) moved.push(entry as Shift)
    }).observe({ type: 'layout-shift' })
  })
  const section =
    '\n\n## A heading\n\nWords, and **more** of them.\n\n- one\n- two\n\n```ts\nconst a = 1\n```\n\n> said'
  for (let message = 0; message < 4; message++) {
    for (let i = 0; i < 25; i++) {
      for (const text of section.match(/[\s\S]{1,16}/g) ?? [])
        api.push('s1', [{ type: 'chat:delta', messageId: `m${message}`, text }])
      await page.evaluate(() => new Promise(requestAnimationFrame))
    }
    const [toolUseId, name] = [`u${message}`, 'Bash']
    api.push('s1', [
      {
        type: 'chat:message',
        messageId: `m${message}`,
        text: `${message === 0 ? 'It begins. ' : ''}${section.repeat(25)}`,
      },
      { type: 'tool:start', toolUseId, name, input: { command: 'ls' } },
      { type: 'tool:result', toolUseId, content: 'a.txt', isError: false },
    ])
  }
  await page.evaluate(() => new Promise(requestAnimationFrame))
  const moved = await page.evaluate(() =>
    (window as unknown as { moved(): { value: number; what: string[] }[] }).moved(),
  )
  expect(moved.filter(({ value }) => value > 0.001)).toEqual([])
  await close()
})

function historyCalls(api: CannedApi): number {
  return api.called('sessions.history').length
}

/** What is in view, and where, to the pixel. */
function rowsInView(page: Page): Promise<string[]> {
  return page.locator('.chat__scroll').evaluate(scroller => {
    const { top, bottom } = scroller.getBoundingClientRect()
    return [...scroller.querySelectorAll('.chat__row')].flatMap(row => {
      const { y, height } = row.getBoundingClientRect()
      const seen = y + height > top && y < bottom
      return seen ? [`${Math.round(y)} ${row.textContent?.slice(0, 40)}`] : []
    })
  })
}
