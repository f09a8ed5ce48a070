import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { burst } from '../support/keys.ts'
import { useDashboard } from '../support/page.ts'
import { aBusyDay, FIX_CRLF, TESTS_PASS } from '../support/scenes.ts'

/** Keys and clicks that come sooner than what the last one asked for. None may get lost, and none may hit something else. */
const dashboard = useDashboard()

const field = (page: Page) => page.getByRole('textbox', { name: 'Message' })

const sent = (calls: unknown[]) => calls.map(input => (input as { message: string }).message)

test('what is written while a message is on its way stays, and is sent after it', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ lastTurn: 'completed' }),
  })
  const release = api.hold('turns.send')
  await field(page).click()
  await page.keyboard.type('one')
  await page.keyboard.press('Enter')
  await page.keyboard.type('two')
  await page.keyboard.press('Enter')
  await page.keyboard.type('three')
  await page.getByRole('region', { name: 'Not sent yet' }).getByText('two').waitFor()
  release()
  await expect.poll(() => sent(api.called('turns.send'))).toEqual(['one', 'two'])
  await page.getByRole('region', { name: 'Not sent yet' }).waitFor({ state: 'detached' })
  expect(await field(page).inputValue()).toBe('three')
  expect(complaints).toEqual([])
  await close()
})

test('what the server does not take comes back, before what was written meanwhile', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ lastTurn: 'completed' }),
  })
  const release = api.hold('turns.send')
  await field(page).click()
  await page.keyboard.type('one')
  await page.keyboard.press('Enter')
  await page.keyboard.type('two')
  await page.keyboard.press('Enter')
  await page.keyboard.type('three')
  // A page that goes away now finds all of it when it is back.
  expect(await page.evaluate(() => localStorage.getItem('chirality-drafts'))).toContain('one\\n\\ntwo')
  api.faults.set('turns.send', 'The disk is full.')
  release()
  await page.getByText('The disk is full.').waitFor()
  await expect.poll(() => field(page).inputValue()).toBe('one\n\ntwo\n\nthree')
  expect(sent(api.called('turns.send'))).toEqual(['one'])
  await close()
})

test('a message that arrives while another session is in view does not stand in its field again', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ lastTurn: 'completed' })
      canned.add({ sessionId: 's2', title: 'Another', lastTurn: 'completed' })
    },
  })
  const release = api.hold('turns.send')
  await field(page).click()
  await page.keyboard.type('one')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: /Another/ }).click()
  await expect.poll(() => page.url()).toContain('/s/s2')
  await field(page).fill('for the other')
  release()
  await expect
    .poll(() => page.evaluate(() => localStorage.getItem('chirality-drafts')))
    .toBe('[["s2","for the other"]]')
  await page.getByRole('link', { name: /Fix CRLF/ }).click()
  await expect.poll(() => field(page).inputValue()).toBe('')
  await page.getByRole('link', { name: /Another/ }).click()
  await expect.poll(() => field(page).inputValue()).toBe('for the other')
  await close()
})

test('a mention that is typed and taken in one go is the one that was typed', async () => {
  const { page, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ lastTurn: 'completed' })
      canned.files[''] = ['alpha.ts', 'beta.ts'].map(name => ({ name, kind: 'file' as const }))
    },
  })
  await field(page).click()
  await page.keyboard.type('@')
  await page.getByRole('option', { name: 'alpha.ts' }).waitFor()
  await burst(page, 'b', 'Tab')
  await expect.poll(() => field(page).inputValue()).toBe('@beta.ts ')
  await close()
})

test('what was found for fewer letters is not taken for more of them', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ lastTurn: 'completed' }),
  })
  await field(page).click()
  await page.keyboard.type('@ndj')
  await page.getByRole('option', { name: 'src/ndjson.ts' }).waitFor()
  const release = api.hold('files.find')
  await burst(page, 'x', 'Tab')
  expect(await field(page).inputValue()).toBe('@ndjx')
  release()
  await close()
})

test('a message that went to the agent while it was changed leaves the change in the field', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ phase: 'running', queue: [{ id: 'q1', message: 'Then tidy up.' }] })
      canned.push('s1', FIX_CRLF)
    },
  })
  await page.getByRole('region', { name: 'Queue' }).getByRole('button', { name: 'Edit' }).click()
  await page.keyboard.press('End')
  await page.keyboard.type(' And rest.')
  api.setStatus('s1', { queue: [] })
  await page.getByText('The agent has that message already.').waitFor()
  expect(await field(page).inputValue()).toBe('Then tidy up. And rest.')
  await close()
})

test('a double click on Retry is one more turn', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ lastTurn: 'completed' })
      canned.push('s1', [...FIX_CRLF, ...TESTS_PASS])
    },
  })
  const release = api.hold('turns.send')
  await page.getByRole('button', { name: 'Retry the turn' }).dblclick()
  release()
  await field(page).fill('Next.')
  await page.keyboard.press('Enter')
  await expect.poll(() => sent(api.called('turns.send')).at(-1)).toBe('Next.')
  expect(api.called('turns.send')).toHaveLength(2)
  await close()
})

test('a comment that is being written stays when the changes are read again', async () => {
  const { page, api, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  await page.getByRole('button', { name: 'Comment on line 43' }).last().click()
  await page.keyboard.type('Name this')
  api.patch = api.patch.replace('@@ -41,4 +41,6 @@', '@@ -51,4 +51,6 @@')
  api.push('s1', TESTS_PASS)
  await page.getByRole('button', { name: 'Comment on line 53' }).last().waitFor()
  await page.keyboard.type(' withoutCR.')
  expect(await page.getByRole('textbox', { name: 'Comment' }).inputValue()).toBe('Name this withoutCR.')
  // The line itself is gone.
  api.patch = api.patch.replaceAll('const last = end > start &&', 'const stop = end > start &&')
  api.push('s1', [
    { type: 'turn:start', message: 'Rename it.' },
    { type: 'turn:end', reason: 'completed' },
  ])
  await page.getByText('const stop = end > start &&').last().waitFor()
  await page.keyboard.press('Enter')
  await field(page).fill('Now.')
  await page.keyboard.press('Enter')
  await expect.poll(() => sent(api.called('turns.send'))).toHaveLength(1)
  expect(sent(api.called('turns.send'))[0]).toContain('> const last = end > start &&\n  Name this withoutCR.')
  await close()
})

test('a picture that is still read goes with the message that was sent meanwhile', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ lastTurn: 'completed' }),
  })
  await field(page).fill('Look.')
  await page.evaluate(() => {
    const transfer = new DataTransfer()
    transfer.items.add(new File(['remember'], 'notes.txt', { type: 'text/plain' }))
    const target = document.getElementById('composer')
    const init = { bubbles: true, cancelable: true }
    target?.dispatchEvent(new ClipboardEvent('paste', { ...init, clipboardData: transfer }))
    target?.dispatchEvent(new KeyboardEvent('keydown', { ...init, key: 'Enter' }))
  })
  await expect
    .poll(() => api.called('turns.send'))
    .toEqual([
      {
        sessionId: 's1',
        message: 'Look.',
        options: { images: [{ type: 'text', text: 'The file notes.txt:\n\nremember' }] },
      },
    ])
  await close()
})
