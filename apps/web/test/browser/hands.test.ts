import { expect, test } from 'vitest'
import { axeViolations, axeViolationsInBothSchemes } from '../support/axe.ts'
import type { CannedApi } from '../support/canned-api.ts'
import { cardWithKeys } from '../support/keys.ts'
import { useDashboard } from '../support/page.ts'
import { aBusyDay, FIX_CRLF } from '../support/scenes.ts'

const dashboard = useDashboard()
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true } as const

test('a phone: nothing sticks out, and a decision is made with a thumb', async () => {
  const phone = { path: '/s/s1', scene: writtenByCodex, ...PHONE }
  const { page, api, complaints, close } = await dashboard.open(phone)
  const allow = page.getByRole('button', { name: 'Allow once' })
  await allow.waitFor()
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
  const widest = await page
    .locator('.chat__row > *')
    .evaluateAll(all => Math.max(...all.map(el => el.getBoundingClientRect().right)))
  expect(widest).toBeLessThanOrEqual(360)
  const box = await allow.boundingBox()
  expect(box?.height).toBeGreaterThanOrEqual(44)
  // A queued message is a bubble at the person's side, cut where it is too long.
  api.setStatus('s1', { queue: [{ id: 'q', message: 'Then tidy up all of the imports. '.repeat(5) }] })
  const bubble = await page.locator('.queue__item').boundingBox()
  const field = await page.locator('.composer__box').boundingBox()
  const right = (place: typeof bubble) => (place?.x ?? 0) + (place?.width ?? 0)
  expect(Math.abs(right(bubble) - right(field))).toBeLessThanOrEqual(1)
  expect(await axeViolations(page)).toEqual([])

  await page.getByRole('button', { name: 'Changes and more' }).tap()
  await page.getByRole('group', { name: 'Changes in src/ndjson.test.ts' }).waitFor()
  await page.getByRole('region', { name: 'Review' }).waitFor()
  await page.getByRole('button', { name: 'Comment on line 43' }).last().tap()
  await page.locator('.line-origin .who-wrote').getByText('$0.12 for the turn').waitFor()
  // What can be done with the changes does not lie over it.
  await page.getByRole('button', { name: 'Close who wrote the line' }).tap()
  await page.getByRole('button', { name: 'Cancel' }).tap()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: '2 need you' }).tap()
  await page.getByRole('dialog').getByText('Is this plan right?').waitFor()
  expect(await axeViolations(page)).toEqual([])
  await page.getByRole('dialog').getByRole('button', { name: 'Go ahead', exact: true }).tap()
  await expect
    .poll(() => api.called('decisions.answer'))
    .toEqual([{ sessionId: 's2', requestId: 'r2', decision: { behavior: 'allow' } }])
  expect(complaints).toEqual([])
  await close()
})

test('a phone: what else can be done with a session is in reach, and so is what went wrong', async () => {
  const { page, api, complaints, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay, ...PHONE })
  await page.getByRole('button', { name: 'Allow once' }).waitFor()
  await page.getByRole('button', { name: 'Sessions' }).tap()
  const sheet = page.getByRole('dialog', { name: 'Sessions' })
  await sheet.getByRole('button', { name: 'More for Fix CRLF handling' }).tap()
  await page.getByRole('menuitem', { name: 'Rename' }).tap()
  await page.getByRole('textbox', { name: 'Name' }).fill('Line ends')
  await page.keyboard.press('Enter')
  await expect.poll(() => api.called('sessions.rename')).toMatchObject([{ title: 'Line ends' }])
  await page.getByRole('button', { name: 'Close' }).tap()

  api.faults.set('decisions.answer', 'Somebody else has answered.')
  await page.getByRole('button', { name: '2 need you' }).tap()
  const tray = page.getByRole('dialog', { name: 'Waiting for you' })
  await tray.getByRole('button', { name: 'Go ahead', exact: true }).tap()
  const toast = page.getByText('Somebody else has answered.')
  await toast.waitFor()
  // It lies over the tray, not under it.
  expect(
    await toast.evaluate(el => {
      const { left, top, width, height } = el.getBoundingClientRect()
      const { pointerEvents } = getComputedStyle(el)
      const parent = el.closest(':popover-open')
      return {
        shown: parent !== null,
        pointerEvents,
        isIn: left >= 0 && left + width <= innerWidth && top + height < 200,
      }
    }),
  ).toEqual({ shown: true, pointerEvents: 'auto', isIn: true })
  expect(complaints).toEqual([])
  await close()
})

test('the keyboard alone: find, answer with another command, write, jump', async () => {
  const { page, api, complaints, close } = await dashboard.open({ scene: aBusyDay })
  await page.getByText('Fix CRLF handling').first().waitFor()
  await page.keyboard.press('Control+k')
  await page.getByPlaceholder('Find a session or a command').waitFor()
  await page.keyboard.type('crlf')
  await page.keyboard.press('Enter')
  await page.getByText('Run this command?').waitFor()

  await cardWithKeys(page).waitFor()
  await page.keyboard.press('e')
  await page.keyboard.press('End')
  await page.keyboard.type(' --run')
  await page.keyboard.press('Control+Enter')
  await expect
    .poll(() => api.called('decisions.answer'))
    .toEqual([
      {
        sessionId: 's1',
        requestId: 'r1',
        decision: {
          behavior: 'allow',
          updatedInput: { command: 'npm test -- ndjson --run', description: 'Run the tests of the framer' },
        },
      },
    ])

  await page.keyboard.press('Escape')
  await page.locator('body').click({ position: { x: 5, y: 5 } })
  await page.keyboard.press('i')
  await page.keyboard.type('Look at @s')
  await page.getByRole('option', { name: 'src/', exact: true }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.type(' please')
  await page.keyboard.press('Enter')
  await expect
    .poll(() => api.called('turns.send'))
    .toEqual([{ sessionId: 's1', message: 'Look at @src/ please', options: {} }])

  await page.keyboard.press('Escape')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Shortcuts' }).waitFor()
  expect(await axeViolations(page)).toEqual([])
  await page.keyboard.press('Escape')
  await page.keyboard.press('f')
  await page.getByRole('heading', { name: 'All sessions' }).waitFor()
  expect(complaints).toEqual([])
  await close()
})

test('in the tray a key answers what is in it, and only once', async () => {
  const { page, api, complaints, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  await page.getByText('Run this command?').waitFor()
  await page.keyboard.press('w')
  const tray = page.getByRole('dialog', { name: 'Waiting for you' })
  await cardWithKeys(tray).waitFor()
  // The first time it opens what it would mean, the second time it is meant.
  await page.keyboard.press('Shift+A')
  await tray.getByRole('group', { name: 'Allow without asking, from now on' }).waitFor()
  await cardWithKeys(tray).waitFor()
  await page.keyboard.press('Shift+A')
  await expect
    .poll(() => api.called('decisions.answer'))
    .toEqual([{ sessionId: 's1', requestId: 'r1', decision: { behavior: 'allow', remember: 'always' } }])
  const box = await page.locator('.composer__box').boundingBox()
  const queue = await page.getByRole('button', { name: 'Queue', includeHidden: true }).boundingBox()
  expect((queue?.x ?? 0) + (queue?.width ?? 0)).toBeLessThan((box?.x ?? 0) + (box?.width ?? 0))
  expect(complaints).toEqual([])
  await close()
})

test('stop is asked for, then done by force, and ends with 0 processes left', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ phase: 'running' })
      canned.push('s1', FIX_CRLF)
    },
  })
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('Asked to stop…').waitFor()
  await page.getByRole('button', { name: 'End by force' }).click()
  await page.getByText('Ending its processes…').waitFor()
  await expect.poll(() => api.called('turns.kill')).toEqual([{ sessionId: 's1' }])
  expect(api.called('turns.interrupt')).toEqual([{ sessionId: 's1' }])
  api.push('s1', [
    { type: 'turn:end', reason: 'killed' },
    { type: 'process:exit', code: null, signal: 'SIGKILL', leftRunning: 0 },
  ])
  api.setStatus('s1', { phase: 'idle', lastTurn: 'killed' })
  await page.getByText('Stopped · 0 processes left').waitFor()
  await close()
})

test('who wrote a line is said by pointer and by focus; a comment on it goes with the next message', async () => {
  const { page, api, close } = await dashboard.open({ path: '/s/s1', scene: writtenByCodex })
  const number = page.getByRole('button', { name: 'Comment on line 43' }).last()
  const who = page.locator('.line-origin .who-wrote')
  await page.getByRole('region', { name: 'Review' }).waitFor()
  expect(api.called('files.blame')).toEqual([])
  await number.hover()
  await who.getByText('$0.12 for the turn').waitFor()
  expect(await who.getByRole('link', { name: '“Mind CRLF”' }).getAttribute('href')).toBe('/s/s1/t/t1')
  expect(api.called('files.blame')).toMatchObject([{ path: 'src/ndjson.ts', of: { side: 'new' } }])
  expect(await axeViolationsInBothSchemes(page)).toEqual([])
  await page.getByRole('button', { name: 'Close who wrote the line' }).click()
  await who.waitFor({ state: 'detached' })
  await number.focus()
  await who.getByText('Line 43', { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await who.waitFor({ state: 'detached' })
  // What is gone is of the other side.
  await page.locator('.line-origins .diff__line--del .diff__number').first().focus()
  await who.getByText(/^Old line/).waitFor()
  await expect.poll(() => api.called('files.blame').at(-1)).toMatchObject({ of: { side: 'old' } })

  await number.click()
  await page.getByRole('textbox', { name: 'Comment' }).fill('Name this withoutCR.')
  await page.keyboard.press('Enter')
  await page.getByText('goes with your next message').waitFor()
  await page.getByRole('textbox', { name: 'Message' }).fill('One more thing.')
  await page.getByRole('button', { name: 'Queue' }).click()
  await expect.poll(() => api.called('turns.send')).toHaveLength(1)
  expect(api.called('turns.send')[0]).toMatchObject({
    message:
      'One more thing.\n\nComments on the changes:\n- src/ndjson.ts:43\n  > const last = end > start &&\n  Name this withoutCR.',
  })
  expect(await page.getByText('goes with your next message').count()).toBe(0)
  await close()
})

/** As on a busy day, in a repository, with a changed file whose lines a turn wrote. */
function writtenByCodex(api: CannedApi): void {
  aBusyDay(api)
  api.review = {
    ...{ branches: null, proposedMessage: '', hooks: [], uncommitted: ['src/ndjson.ts'] },
    ...{ remotes: [], moves: [], untold: [] },
  }
  const turn = { sessionId: 's1', turnId: 't1', title: null, harness: 'codex', model: 'gpt', at: null }
  api.blames['src/ndjson.ts'] = {
    path: 'src/ndjson.ts',
    lines: [{ line: 1, count: 200, origin: { kind: 'turns', turns: ['s1/t1'], isSure: true } }],
    turns: {
      's1/t1': { ...turn, prompt: 'Mind CRLF', costUsd: 0.12, costIsEstimate: false, isDeleted: false },
    },
  }
}
