import { expect, test } from 'vitest'
import { axeViolations } from '../support/axe.ts'
import type { CannedApi } from '../support/canned-api.ts'
import { cardWithKeys } from '../support/keys.ts'
import { PHONE, useDashboard } from '../support/page.ts'

const dashboard = useDashboard()

const REFUSED = 'The machine studio cannot be reached now. Nothing was done.'
const AWAY = { name: 'studio', state: 'away' as const }

/** A question that waits on a machine that went away. */
function asked(canned: CannedApi): void {
  const kind = { type: 'permission:request', kind: 'tool', toolName: 'Bash' } as const
  const request = { ...kind, requestId: 'r1', input: { command: 'npm test' }, raw: {} }
  canned.add({
    ...{ title: 'Rows that are skipped', phase: 'waiting', machine: AWAY },
    pending: [{ ...request, sessionId: 's1' }],
  })
  canned.push('s1', [{ type: 'turn:start', message: 'Go.' }, request])
  for (const call of ['files.diff', 'review.state', 'decisions.answer']) canned.faults.set(call, REFUSED)
}

test('a request of a machine that is away cannot be answered, and says why', async () => {
  const { page, api, complaints, close } = await dashboard.open({ path: '/s/s1', scene: asked })
  const card = page.locator('.chat .decision')
  await card.getByText('studio is away: it can be answered when it is back.').waitFor()
  const buttons = await card.getByRole('button').all()
  expect(buttons.length).toBeGreaterThan(1)
  for (const button of buttons) expect(await button.isDisabled()).toBe(true)
  expect(await cardWithKeys(page).count()).toBe(0)
  // Nor does the letter wait for the field that comes with the machine.
  await page.locator('.away-notice').waitFor()
  await page.keyboard.press('a')
  // The changes say it once, and in no alarm.
  const changes = page.locator('.changes')
  await changes.getByText('Changes cannot be read').waitFor()
  expect(await changes.getByText('studio').count()).toBe(1)
  expect(await page.getByRole('alert').count()).toBe(0)
  expect(await axeViolations(page)).toEqual([])

  // It is back.
  api.setStatus('s1', { machine: { name: 'studio', state: 'here' } })
  await card.getByText('studio is away').waitFor({ state: 'detached' })
  await cardWithKeys(page).waitFor()
  expect(await page.locator('#composer').inputValue()).toBe('')
  expect(api.called('decisions.answer')).toEqual([])
  api.faults.clear()
  await page.keyboard.press('a')
  await expect.poll(() => api.called('decisions.answer').length).toBe(1)
  expect(complaints).toEqual([])
  await close()
})

test('nothing that needs a machine that is away is offered without the reason, on a phone', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ title: 'Rows that are skipped', lastTurn: 'crashed', machine: AWAY })
      canned.push('s1', [
        { type: 'turn:start', message: 'Go.' },
        { type: 'chat:message', messageId: 'm1', text: 'The importer skips rows.' },
        { type: 'turn:end', reason: 'crashed' },
      ])
    },
    ...PHONE,
  })
  await page.getByText('The importer skips rows.').waitFor()
  await page.getByText('cut off').waitFor()
  const offered = page.getByRole('button', { name: /^(Go on$|Retry|Back to before|Fork)/ })
  expect(await offered.count()).toBe(0)
  await page.getByRole('button', { name: 'Actions' }).tap()
  for (const name of [/^Rename/, /^Pin/, /^Archive/, /^Fork/, /^Delete/]) {
    const item = page.getByRole('menuitem', { name })
    expect([await item.isDisabled(), await item.textContent()]).toEqual([
      true,
      expect.stringContaining('studio is away'),
    ])
  }
  await page.keyboard.press('Escape')
  expect(await axeViolations(page)).toEqual([])
  api.setStatus('s1', { machine: { name: 'studio', state: 'here' } })
  await page.getByRole('button', { name: 'Go on', exact: true }).waitFor()
  expect(await offered.count()).toBeGreaterThan(1)
  expect(complaints).toEqual([])
  await close()
})
