import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { picker } from '../support/choose.ts'
import { burst, cardWithKeys } from '../support/keys.ts'
import { useDashboard } from '../support/page.ts'
import { aBusyDay } from '../support/scenes.ts'

/** Keys and clicks that come sooner than what the last one asked for. None may get lost, and none may hit something else. */
const dashboard = useDashboard()

/** The code of a part that is loaded when it is needed does not come before the function that is returned is called. */
async function holdCode(page: Page, part: string): Promise<() => void> {
  let arrive = () => {}
  const held = new Promise<void>(resolve => {
    arrive = resolve
  })
  await page.route(new RegExp(`/${part}-[^/]*\\.js`), async route => {
    await held
    await route.continue()
  })
  return arrive
}

const field = (page: Page) => page.getByRole('textbox', { name: 'Message' })

test('what a page shows is asked for while the code that draws it is still on its way, and once', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ lastTurn: 'completed', lastSeq: 5000 }),
  })
  const asked = () => api.called('sessions.history').length
  await expect.poll(asked).toBe(1)
  const arrive = await holdCode(page, 'start')
  await page.reload({ waitUntil: 'commit' })
  await expect.poll(asked).toBe(2)
  expect(await page.locator('.sheet').count()).toBe(0)
  arrive()
  await field(page).click()
  expect(asked()).toBe(2)
  await close()
})

test('a page whose code does not come says so', async () => {
  const { page, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ lastTurn: 'completed' }),
  })
  await page.route(/\/start-[^/]*\.js/, route => route.abort())
  await page.reload({ waitUntil: 'commit' })
  await page.getByText('The dashboard could not be loaded. Load the page again.').waitFor()
  await close()
})

test('letters for the palette are its own while its code is on the way', async () => {
  const { page, api, complaints, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  const arrive = await holdCode(page, 'Palette')
  await page.reload()
  await cardWithKeys(page).waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('adf')
  arrive()
  await expect.poll(() => page.getByPlaceholder('Find a session or a command').inputValue()).toBe('adf')
  expect(api.called('decisions.answer')).toEqual([])
  expect(page.url()).toContain('/s/s1')
  expect(complaints).toEqual([])
  await close()
})

test('a dialog that was taken back before it came does not come', async () => {
  const { page, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  const arrive = await holdCode(page, 'Shortcuts')
  await page.getByText('Run this command?').waitFor()
  await burst(page, '?', 'Escape')
  // The keys are the page's again.
  await page.keyboard.press('f')
  await page.getByRole('heading', { name: 'All sessions' }).waitFor()
  arrive()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Shortcuts' }).waitFor()
  await close()
})

test('what the palette runs has the next key', async () => {
  const { page, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ lastTurn: 'completed' }),
  })
  await page.keyboard.press('Control+k')
  await page.getByPlaceholder('Find a session or a command').waitFor()
  await page.keyboard.type('write a mess')
  await burst(page, 'Enter', 'h', 'i')
  await expect.poll(() => field(page).inputValue()).toBe('hi')
  expect(page.url()).toContain('/s/s1')
  await close()
})

test('letters that look for an entry of a menu are no shortcuts', async () => {
  const { page, api, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  await cardWithKeys(page).waitFor()
  await page.getByRole('button', { name: /^Permissions/ }).click()
  await page.getByRole('menu').waitFor()
  await burst(page, 'a', 'd', 'f', 'n')
  await page.getByRole('menu').waitFor()
  expect(await page.getByRole('dialog').count()).toBe(0)
  expect(page.url()).toContain('/s/s1')
  await page.keyboard.press('Escape')
  await page.getByRole('menu').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Allow once' }).waitFor()
  expect(api.called('decisions.answer')).toEqual([])
  await close()
})

test('Escape out of a form in the tray leaves the tray open', async () => {
  const { page, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  await page.getByText('Run this command?').waitFor()
  await page.keyboard.press('w')
  const tray = page.getByRole('dialog', { name: 'Waiting for you' })
  await cardWithKeys(tray).waitFor()
  await page.keyboard.press('d')
  await tray.getByRole('textbox', { name: 'What should it do instead?' }).waitFor()
  await page.keyboard.press('Escape')
  await cardWithKeys(tray).waitFor()
  await page.keyboard.press('e')
  await tray.getByRole('textbox', { name: 'Command' }).waitFor()
  await page.keyboard.press('Escape')
  await tray.getByRole('button', { name: 'Allow once' }).waitFor()
  await tray.getByRole('textbox', { name: 'Comments' }).focus()
  await page.keyboard.press('Escape')
  await expect
    .poll(() => tray.getByRole('textbox', { name: 'Comments' }).evaluate(el => el === document.activeElement))
    .toBe(false)
  expect(await tray.isVisible()).toBe(true)
  await page.keyboard.press('Escape')
  await tray.waitFor({ state: 'detached' })
  await close()
})

test('a key that is pressed twice answers one decision, and a double click hits one button', async () => {
  const { page, api, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  const first = { type: 'permission:request', kind: 'tool', toolName: 'Bash', raw: {} } as const
  const hint = cardWithKeys(page)
  await hint.waitFor()
  await page.keyboard.press('a')
  await expect.poll(() => api.called('decisions.answer')).toHaveLength(1)
  api.push('s1', [
    { type: 'permission:resolved', requestId: 'r1', outcome: 'allowed', by: 'person' },
    { ...first, requestId: 'r9', input: { command: 'rm -rf build' } },
  ])
  // In the very frame that draws the next one.
  await page.evaluate(
    () =>
      new Promise<void>(done => {
        const look = () => {
          if (!document.querySelector('.decision')?.textContent?.includes('rm -rf'))
            return requestAnimationFrame(look)
          document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true }))
          done()
        }
        look()
      }),
  )
  await hint.waitFor()
  expect(api.called('decisions.answer')).toHaveLength(1)
  await page.getByRole('button', { name: 'Deny…' }).dblclick()
  await page.getByRole('textbox', { name: 'What should it do instead?' }).waitFor()
  expect(api.called('decisions.answer')).toHaveLength(1)
  await page.getByRole('textbox', { name: 'What should it do instead?' }).press('Escape')
  await hint.waitFor()
  await page.keyboard.press('a')
  await expect.poll(() => api.called('decisions.answer')).toHaveLength(2)
  await close()
})

test('Enter twice in the dialog starts one session, and what is typed then is its first message', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    scene: canned => canned.add({ sessionId: 's1' }),
  })
  await page.getByRole('heading', { name: 'What should be done?' }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('n')
  const dialog = page.getByRole('dialog', { name: 'New session' })
  await dialog.getByRole('button', { name: 'Start' }).and(page.locator(':enabled')).waitFor()
  const release = api.hold('sessions.create')
  await burst(page, 'Enter', 'Enter')
  await dialog.getByRole('button', { name: 'Starting…' }).waitFor()
  release()
  await dialog.waitFor({ state: 'detached' })
  await page.keyboard.type('hi')
  expect(await field(page).inputValue()).toBe('hi')
  expect(api.called('sessions.create')).toHaveLength(1)
  expect(complaints).toEqual([])
  await close()
})

test('until it is known what is installed, no agent is started that may not be', async () => {
  let release = () => {}
  const { page, api, close } = await dashboard.open({
    scene: canned => {
      canned.add({ sessionId: 's1' })
      canned.harnesses.reverse()
      release = canned.hold('harnesses.status')
    },
  })
  await page.getByRole('heading', { name: 'What should be done?' }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('n')
  const dialog = page.getByRole('dialog', { name: 'New session' })
  await picker(dialog, 'Agent').getByText('Codex').waitFor()
  await page.keyboard.press('Enter')
  expect(await dialog.getByRole('button', { name: 'Start' }).isDisabled()).toBe(true)
  release()
  await dialog.getByRole('button', { name: 'Start' }).and(page.locator(':enabled')).waitFor()
  await page.keyboard.press('Enter')
  await expect.poll(() => api.called('sessions.create')).toHaveLength(1)
  expect(api.called('sessions.create')[0]).toMatchObject({ harness: 'claude-code' })
  await close()
})

test('a name given to a session that went on meanwhile changes only its name', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ lastTurn: 'completed' }),
  })
  const release = api.hold('sessions.rename')
  await page.getByRole('button', { name: /^More for/ }).click()
  await page.getByRole('menuitem', { name: 'Rename' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Another name')
  await page.keyboard.press('Enter')
  await expect.poll(() => api.called('sessions.rename')).toHaveLength(1)
  api.setStatus('s1', { phase: 'running' })
  await page.getByRole('region', { name: 'Working' }).waitFor()
  release()
  await page.getByRole('region', { name: 'Working' }).getByText('Another name').waitFor()
  await close()
})

test('into a folder whose files are still read, the keys do not run past it', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ lastTurn: 'completed' })
      canned.files = {
        '': [
          { name: 'src', kind: 'folder' },
          { name: 'README.md', kind: 'file' },
        ],
        src: [{ name: 'main.ts', kind: 'file' }],
      }
    },
  })
  await page.getByRole('tab', { name: 'Files' }).click()
  const folder = page.getByRole('treeitem', { name: 'src' })
  await folder.focus()
  const release = api.hold('files.tree')
  await burst(page, 'ArrowRight', 'ArrowRight')
  expect(await folder.evaluate(el => el === document.activeElement)).toBe(true)
  release()
  await page.getByRole('treeitem', { name: 'main.ts' }).waitFor()
  await page.keyboard.press('ArrowRight')
  const file = page.getByRole('treeitem', { name: 'main.ts' })
  expect(await file.evaluate(el => el === document.activeElement)).toBe(true)
  await close()
})

test('a session that is gone to has the keys that follow', async () => {
  const { page, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ lastTurn: 'completed' })
      canned.add({ sessionId: 's2', title: 'Another', lastTurn: 'completed' })
    },
  })
  await field(page).waitFor()
  await page.getByRole('link', { name: /Another/ }).focus()
  await burst(page, 'Enter', 'i', 'o', 'k')
  await expect.poll(() => page.url()).toContain('/s/s2')
  await expect.poll(() => field(page).inputValue()).toBe('ok')
  await close()
})

test('from turn to turn and from pane to pane, each key is a step', async () => {
  const turns = Array.from({ length: 12 }, (_, i) => `t${i}`)
  const { page, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ lastTurn: 'completed' })
      for (const turn of turns)
        canned.push(
          's1',
          [
            { type: 'turn:start', message: `question of ${turn}` },
            { type: 'chat:message', messageId: turn, text: `${'line\n\n'.repeat(30)}answer of ${turn}` },
            { type: 'turn:end', reason: 'completed' },
          ],
          turn,
        )
    },
  })
  await page.getByText('answer of t11', { exact: true }).waitFor()
  const topmost = () =>
    page.evaluate(() => {
      const top = document.querySelector('.chat__scroll')?.getBoundingClientRect().top ?? 0
      const seen = [...document.querySelectorAll('.you')].filter(el => {
        const y = el.getBoundingClientRect().top - top
        return y >= 0 && y < 80
      })
      return seen.map(el => el.textContent)
    })
  await burst(page, '[', '[', '[', '[', '[')
  await expect.poll(topmost).toEqual(['question of t7'])
  await burst(page, ']', ']', '[', ']')
  await expect.poll(topmost).toEqual(['question of t9'])
  await burst(page, '1', '3', '4', '5')
  await page.getByRole('region', { name: 'The prompt' }).waitFor()
  await burst(page, '4', '3', '2')
  await picker(page, 'Changes of').waitFor()
  await close()
})

test('in a long list of raw lines a jump does not lose the key after it', async () => {
  const { page, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ lastTurn: 'completed' })
      canned.push('s1', [{ type: 'turn:start', message: 'Go.' }])
      canned.print(
        's1',
        Array.from({ length: 150 }, (_, i) => JSON.stringify({ type: `line${i}` })),
      )
    },
  })
  await page.getByRole('tab', { name: 'Raw' }).click()
  await page.getByRole('button', { name: 'Native lines' }).click()
  const chosen = page.getByRole('group', { name: 'Native lines' }).locator('[aria-pressed="true"]')
  await page.getByRole('button', { name: /^line149/ }).click()
  await expect.poll(() => chosen.evaluate(el => el === document.activeElement)).toBe(true)
  await burst(page, 'Home', 'ArrowDown', 'ArrowDown')
  await expect.poll(() => chosen.textContent()).toMatch(/^line2/)
  await close()
})
