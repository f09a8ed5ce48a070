import { expect, test } from 'vitest'
import { picker } from '../support/choose.ts'
import { aHarness } from '../support/harnesses.ts'
import { useDashboard } from '../support/page.ts'
import { aBusyDay, FIX_CRLF, TESTS_PASS } from '../support/scenes.ts'

const dashboard = useDashboard()
/** A picture of one pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

test('completion: commands at the beginning, files from anywhere in the project', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ lastTurn: 'completed' }),
  })
  const field = page.getByRole('textbox', { name: 'Message' })
  await field.click()
  await page.keyboard.type('/rev')
  await page.getByRole('option', { name: /review.*Review the changes/ }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.type('@test.ts')
  await page.getByRole('option', { name: 'src/ndjson.test.ts' }).waitFor()
  await page.keyboard.press('Enter')
  await page.keyboard.type('now')
  await page.keyboard.press('Enter')
  await expect
    .poll(() => api.called('turns.send'))
    .toEqual([{ sessionId: 's1', message: '/review @src/ndjson.test.ts now', options: {} }])
  expect(await field.inputValue()).toBe('')
  expect(complaints).toEqual([])
  await close()
})

test('pictures and files by paste and drop go with the message, and can be taken back', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ lastTurn: 'completed' }),
  })
  await page.getByRole('textbox', { name: 'Message' }).fill('Look.')
  const give = (how: 'paste' | 'drop', name: string, type: string, base64: string) =>
    page.evaluate(
      ([event, file, mime, data]) => {
        const bytes = Uint8Array.from(atob(data), char => char.charCodeAt(0))
        const transfer = new DataTransfer()
        transfer.items.add(new File([bytes], file, { type: mime }))
        const target = document.getElementById('composer')
        const init = { bubbles: true, cancelable: true }
        target?.dispatchEvent(
          event === 'paste'
            ? new ClipboardEvent('paste', { ...init, clipboardData: transfer })
            : new DragEvent('drop', { ...init, dataTransfer: transfer }),
        )
      },
      [how, name, type, base64] as const,
    )
  await give('paste', 'pixel.png', 'image/png', PIXEL)
  await give('drop', 'notes.txt', 'text/plain', btoa('remember'))
  await give('drop', 'other.txt', 'text/plain', btoa('not this'))
  const attached = page.getByRole('list', { name: 'Attached' })
  await attached.getByText('other.txt').waitFor()
  await page.getByRole('button', { name: 'Remove other.txt' }).click()
  await give('drop', 'program', 'application/octet-stream', btoa('\0\0'))
  await page.getByText('program is neither a picture nor text.').waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  const images = [
    { type: 'image', source: { kind: 'base64', data: PIXEL, mediaType: 'image/png' } },
    { type: 'text', text: 'The file notes.txt:\n\nremember' },
  ]
  await expect
    .poll(() => api.called('turns.send'))
    .toEqual([{ sessionId: 's1', message: 'Look.', options: { images } }])
  await attached.waitFor({ state: 'detached' })
  expect(complaints).toEqual([])
  await close()
})

test('while a turn runs: queue, send now, and what was said before comes back with an arrow', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ phase: 'running', queue: [{ id: 'q1', message: 'Then tidy up.' }] })
      canned.push('s1', FIX_CRLF)
    },
  })
  const field = page.getByRole('textbox', { name: 'Message' })
  await field.fill('First line')
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.type('second line')
  await page.keyboard.press('Enter')
  await expect
    .poll(() => api.called('turns.send'))
    .toEqual([{ sessionId: 's1', message: 'First line\nsecond line', options: {} }])
  await field.fill('Stop that.')
  await page.getByRole('button', { name: 'Send now' }).click()
  await expect
    .poll(() => api.called('turns.steer'))
    .toEqual([{ sessionId: 's1', message: 'Stop that.', options: {} }])
  api.setStatus('s1', { steered: [{ id: 'g1', message: 'Stop that.' }] })
  const given = page.getByRole('region', { name: 'Sent to the agent' }).getByText('Stop that.')
  await given.waitFor()
  await page.reload()
  await given.waitFor()
  api.setStatus('s1', { steered: [], phase: 'idle', lastTurn: 'interrupted', queueHeld: true })
  await given.waitFor({ state: 'detached' })
  await page.getByText('You stopped the turn, so these messages were not sent.').waitFor()
  api.setStatus('s1', { phase: 'running', queueHeld: false })
  await page.getByRole('region', { name: 'Queue' }).getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: 'Queued message' }).fill('Then rest.')
  await page.keyboard.press('Enter')
  await expect
    .poll(() => api.called('turns.queue.edit'))
    .toEqual([{ sessionId: 's1', id: 'q1', message: 'Then rest.' }])
  await field.click()
  await page.keyboard.press('ArrowUp')
  expect(await field.inputValue()).toMatch(/^The splitter breaks/)
  await close()
})

test('a draft survives a reload', async () => {
  const { page, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ lastTurn: 'completed' }),
  })
  await page.getByRole('textbox', { name: 'Message' }).fill('Half a message')
  await page.reload()
  await expect.poll(() => page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('Half a message')
  await close()
})

test('without checks is for one message, and is said before it is sent', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ lastTurn: 'completed', budgetUsd: 5 })
      canned.settings.s1 = { permissionMode: 'plan', budgetUsd: 5 }
    },
  })
  await page.getByRole('contentinfo').getByText('$0.00 of $5.00').waitFor()
  await page.getByRole('button', { name: 'Permissions: Plan only' }).click()
  const rules = page.getByRole('menuitemcheckbox', { name: 'Only what rules allow' })
  expect(await rules.textContent()).toContain('Never asks you: what no rule allows is denied.')
  expect(await page.getByRole('menuitemcheckbox', { checked: true }).textContent()).toContain('Plan only')
  await page.getByRole('menuitemcheckbox', { name: 'Everything, unasked, for the next message' }).click()
  await page.getByRole('button', { name: 'Permissions: Everything, unasked: next message' }).waitFor()
  await page.getByRole('textbox', { name: 'Message' }).fill('Do it.')
  await page.keyboard.press('Enter')
  await expect
    .poll(() => api.called('turns.send'))
    .toEqual([{ sessionId: 's1', message: 'Do it.', options: { permissionMode: 'bypassPermissions' } }])
  await page.getByRole('button', { name: 'Permissions: Plan only' }).waitFor()
  await close()
})

test('a harness that tells no price and takes no message while it works is not shown as if it did', async () => {
  const { page, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.harnesses = [
        aHarness({
          id: 'codex',
          capabilities: { supportsCostTracking: false, supportsSteering: false, supportsFork: false },
        }),
      ]
      canned.add({ harness: 'codex', phase: 'running' })
      canned.push('s1', FIX_CRLF)
    },
  })
  await page.getByRole('button', { name: 'Queue' }).waitFor()
  expect(await page.getByRole('button', { name: 'Send now' }).count()).toBe(0)
  expect(await page.getByText('$0.00').count()).toBe(0)
  await close()
})

test('the changes of a turn are one click from its end', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      aBusyDay(canned)
      canned.changed = [
        { path: 'logo.bin', kind: 'added', added: null, removed: null },
        { path: 'src/new.ts', kind: 'renamed', renamedFrom: 'src/old.ts', added: 0, removed: 0 },
      ]
    },
  })
  await page.getByText('Run this command?').waitFor()
  // Of the folder only what an edit of this session named is counted; the rest is said to be somebody's.
  await page.getByRole('tab', { name: 'Changes 1' }).waitFor()
  await page.getByText('Also changed in this folder since the last commit').waitFor()
  api.push('s1', TESTS_PASS)
  await page.getByRole('button', { name: 'Changes of this turn' }).click()
  await expect.poll(() => api.called('files.turnDiff')).toEqual([{ sessionId: 's1', turnId: 't1' }])
  const chosen = picker(page, 'Changes of')
  expect(await chosen.textContent()).toMatch(/^Turn 1 · The splitter breaks/)
  // All of a turn is this session's; what has no lines says so.
  await page.getByRole('tab', { name: 'Changes 4' }).waitFor()
  await page.getByRole('region', { name: 'logo.bin' }).getByText('Binary file, no lines to show.').waitFor()
  await page.getByText('Renamed from src/old.ts; its lines are the same.').waitFor()
  await close()
})

test.each([
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
  { width: 1000, height: 420 },
])(
  'the menu of permissions covers neither its chip nor the edge of the window at $width × $height',
  async viewport => {
    const { page, complaints, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay, viewport })
    const chip = page.getByRole('button', { name: /^Permissions:/ })
    await chip.click()
    const menu = page.getByRole('menu')
    await menu.waitFor()
    // It is placed in the frame after it is drawn.
    const boxes = async () => ({ menu: await menu.boundingBox(), chip: await chip.boundingBox() })
    await expect
      .poll(async () => {
        const { menu: shown, chip: opener } = await boxes()
        if (!shown || !opener) return 'not there'
        if (shown.y < 0 || shown.y + shown.height > viewport.height)
          return `out of the window: ${JSON.stringify(shown)}`
        const isBeside = shown.y + shown.height <= opener.y || shown.y >= opener.y + opener.height
        return isBeside ? 'beside' : `over it: ${JSON.stringify({ shown, opener })}`
      })
      .toBe('beside')
    // What does not fit is reached by scrolling.
    const last = page.getByRole('menuitemcheckbox').last()
    await last.scrollIntoViewIfNeeded()
    await last.click()
    await page.getByRole('button', { name: /^Permissions: Everything, unasked/ }).waitFor()
    expect(complaints).toEqual([])
    await close()
  },
)
