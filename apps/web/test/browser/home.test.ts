import { PERMISSION_WORDS } from '@chirality/core'
import { expect, test } from 'vitest'
import { axeViolations, axeViolationsInBothSchemes } from '../support/axe.ts'
import { choose, picker } from '../support/choose.ts'
import { PHONE, useDashboard } from '../support/page.ts'
import { aBusyDay, aMonth } from '../support/scenes.ts'

const dashboard = useDashboard()

test('say what, press Enter: a session with what was chosen, which is offered again', async () => {
  const { page, api, complaints, close } = await dashboard.open({ scene: aBusyDay })
  await choose(page, 'Permissions', PERMISSION_WORDS.acceptEdits.label)
  await page.keyboard.press('i')
  await page.keyboard.type('Stream the export')
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.type('and show progress')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/s/s1')
  expect(api.called('sessions.create')).toEqual([
    { project: '/code/parser-kit', mode: 'workbench', harness: 'claude-code', permissionMode: 'acceptEdits' },
  ])
  expect(api.called('turns.send')).toEqual([
    { sessionId: 's1', message: 'Stream the export\nand show progress', options: {} },
  ])

  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'Home', exact: true }).click()
  await picker(page, 'Permissions').getByText(PERMISSION_WORDS.acceptEdits.label).waitFor()
  expect(await page.getByRole('textbox', { name: 'What should be done?' }).inputValue()).toBe('')
  expect(complaints).toEqual([])
  await close()
})

test('a message that the server does not take waits in the field of its new session', async () => {
  const scene: typeof aBusyDay = api => {
    aBusyDay(api)
    api.faults.set('turns.send', 'Somebody else works there.')
  }
  const { page, api, close } = await dashboard.open({ scene })
  await page.getByRole('textbox', { name: 'What should be done?' }).fill('Do it')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/s/s1')
  await page.getByText('Somebody else works there.').waitFor()
  expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('Do it')
  expect(api.called('sessions.create')).toHaveLength(1)
  await close()
})

test('a session that cannot be made leaves the words where they are', async () => {
  const scene: typeof aBusyDay = api => {
    aBusyDay(api)
    api.faults.set('sessions.create', 'The folder is in use by another program.')
  }
  const { page, close } = await dashboard.open({ scene })
  const field = page.getByRole('textbox', { name: 'What should be done?' })
  await field.fill('Do it')
  await page.keyboard.press('Enter')
  await page.getByText('The folder is in use by another program.').waitFor()
  expect(await field.inputValue()).toBe('Do it')
  await close()
})

test('an agent that cannot work yet says what to run', async () => {
  const { page, close } = await dashboard.open({ scene: aBusyDay })
  await choose(page, 'Agent', 'Codex (not installed)')
  await page.getByText('Codex cannot work yet.').waitFor()
  await close()
})

test('what needs you, what works and what ended is one click away', async () => {
  const { page, close } = await dashboard.open({ scene: aBusyDay })
  const waiting = page.getByRole('main').getByRole('region', { name: 'Needs you' })
  await waiting.getByText('plan is ready to review').waitFor()
  await page
    .getByRole('main')
    .getByRole('region', { name: 'Working' })
    .getByText('Docs for the API')
    .waitFor()
  await page.getByRole('main').getByRole('region', { name: 'Lately' }).getByText('Release notes').waitFor()
  await waiting.getByRole('link', { name: /Fix CRLF handling/ }).click()
  await page.waitForURL('**/s/s1')
  await close()
})

test('who has only the demo is asked for a folder of their own', async () => {
  const { page, api, close } = await dashboard.open({
    scene: canned => {
      canned.demo = { projectRoot: '/code/parser-kit', prompt: 'Mend it.' }
      canned.onlyDemo = true
    },
  })
  await page.getByRole('button', { name: 'Try the demo' }).waitFor()
  await page.getByLabel('Folder on this machine').fill('~/mine')
  await page.keyboard.press('Enter')
  await expect.poll(() => api.called('projects.register')).toEqual([{ path: '~/mine' }])
  await close()
})

test('the panel and the sidebar are as they were left', async () => {
  const { page, complaints, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  const panel = page.getByRole('complementary', { name: 'Beside the conversation' })
  const edge = page.getByRole('separator', { name: 'Width of the panel' })
  const width = async () => Math.round((await panel.boundingBox())?.width ?? 0)
  const before = await width()
  await edge.focus()
  await page.keyboard.press('ArrowLeft')
  await expect.poll(width).toBe(before + 16)
  await page.reload()
  await expect.poll(width).toBe(before + 16)

  await page.getByRole('button', { name: 'Changes and more' }).click()
  await panel.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Hide the sidebar' }).click()
  await page.reload()
  await page.getByRole('button', { name: 'Show the sidebar' }).waitFor()
  expect(await panel.count()).toBe(0)
  expect(await axeViolations(page)).toEqual([])
  // A key for a pane shows the panel again.
  await page.getByText('Run this command?').waitFor()
  await page.keyboard.press('3')
  await panel.waitFor()
  expect(complaints).toEqual([])
  await close()
})

test('the theme that was chosen holds against the system, and after a reload', async () => {
  const { page, complaints, close } = await dashboard.open({
    ...{ path: '/settings/appearance', scene: aBusyDay, colorScheme: 'light' },
  })
  const canvas = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const light = await canvas()
  await page.getByRole('radio', { name: 'Dark' }).click()
  await expect.poll(canvas).not.toBe(light)
  await page.reload()
  await page.getByRole('radio', { name: 'Dark', checked: true }).waitFor()
  expect(await canvas()).not.toBe(light)
  await page.getByRole('radio', { name: 'System' }).click()
  await expect.poll(canvas).toBe(light)
  expect(complaints).toEqual([])
  await close()
})

test('New persona and Add a server take Enter before the projects are known, and no missing project is claimed', async () => {
  for (const [section, button, field] of [
    ['personas', 'New persona', 'Name'],
    ['tools', 'Add a server', 'Command'],
  ] as const) {
    let release = () => {}
    const { page, complaints, close } = await dashboard.open({
      path: `/settings/${section}`,
      scene: api => {
        aBusyDay(api)
        release = api.hold('projects.list')
      },
    })
    await page.getByRole('button', { name: button }).press('Enter')
    expect(await page.getByText('No project yet').count()).toBe(0)
    release()
    await page.getByLabel(field, { exact: true }).waitFor()
    expect(complaints).toEqual([])
    await close()
  }
})

test('a rule is found, read in plain words and taken back', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    ...{ path: '/settings/permissions', scene: aBusyDay },
  })
  const own = page.getByRole('region', { name: 'Yours, for this project' })
  await own.getByText('npm test, whatever follows').waitFor()
  await page.getByText('does not count: only your own files can allow').waitFor()
  await page.getByRole('searchbox', { name: 'Find a rule' }).fill('push')
  await own.getByText('npm test, whatever follows').waitFor({ state: 'detached' })
  await own.getByRole('button', { name: 'Take back deny Bash(git push *)' }).click()
  await own.getByText('No rule fits.').waitFor()
  expect(api.called('rules.remove')).toEqual([
    { project: '/code/parser-kit', scope: 'project', line: 3, text: 'deny Bash(git push *)' },
  ])
  expect(complaints).toEqual([])
  await close()
})

test.each([
  ['a wide page', {}],
  ['a phone', PHONE],
] as const)(
  'home and settings on %s: nothing that axe finds, light and dark',
  { timeout: 300_000 },
  async (_name, size) => {
    const { page, complaints, close } = await dashboard.open({ scene: aMonth, ...size })
    for (const path of PLACES) {
      await page.goto(new URL(path, page.url()).href)
      await page.locator('main h1').waitFor()
      const overhang = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      expect(overhang, path).toBe(0)
      expect(await axeViolationsInBothSchemes(page), path).toEqual([])
    }
    expect(complaints).toEqual([])
    await close()
  },
)

const PLACES = [
  ...[
    '/',
    '/settings/agents',
    '/settings/permissions',
    '/settings/personas',
    '/settings/tools',
    '/settings/notifications',
    '/settings/devices',
  ],
  ...['/settings/appearance', '/usage'],
]

const BLIND = 'What should now be fixed here? j k i a e'

test('who opens the page and types at once has every letter in the field, and none is a shortcut', async () => {
  const { page, complaints, close } = await dashboard.open({ scene: aBusyDay })
  for (const address of ['/', '/?again']) {
    await page.evaluate(() => localStorage.clear())
    // As soon as the script of the page has run: nothing of it is drawn yet.
    await page.goto(new URL(address, page.url()).href, { waitUntil: 'domcontentloaded' })
    await page.keyboard.type(BLIND)
    const field = page.getByRole('textbox', { name: 'What should be done?' })
    await field.waitFor()
    await page.keyboard.type(' and more')
    expect(await page.getByRole('dialog').count()).toBe(0)
    await expect.poll(() => field.inputValue()).toBe(`${BLIND} and more`)
  }
  expect(new URL(page.url()).pathname).toBe('/')
  expect(complaints).toEqual([])
  await close()
})

test('a page that has no field takes shortcuts', async () => {
  const { page, close } = await dashboard.open({ path: '/s/none' })
  for (const [address, title] of [
    ['/s/none', 'There is no such session here'],
    ['/p/none/none', 'There is no such page'],
  ] as const) {
    await page.goto(new URL(address, page.url()).href)
    await page.getByText(title).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Shortcuts' }).waitFor()
  }
  await close()
})

test('on the start page the field has the focus: by its address, by a key and by a link', async () => {
  const { page, close } = await dashboard.open({ scene: aBusyDay })
  const field = page.getByRole('textbox', { name: 'What should be done?' })
  const hasFocus = () => field.evaluate(element => element === document.activeElement)
  await field.waitFor()
  await expect.poll(hasFocus).toBe(true)
  await page.keyboard.type(BLIND)
  await expect.poll(() => field.inputValue()).toBe(BLIND)
  // Out of the field letters are shortcuts.
  await page.keyboard.press('Escape')
  await page.keyboard.press('f')
  await page.waitForURL('**/fleet')
  await page.keyboard.press('h')
  await page.keyboard.type(' now')
  await field.waitFor()
  await expect.poll(() => field.inputValue()).toBe(`${BLIND} now`)
  await page.getByRole('link', { name: 'Settings' }).first().click()
  await page.waitForURL('**/settings')
  await page.getByRole('link', { name: 'Home', exact: true }).click()
  await field.waitFor()
  await expect.poll(hasFocus).toBe(true)
  await close()
})

test('who goes back to the start page before another page has come goes on typing in its field', async () => {
  const { page, close } = await dashboard.open({ scene: aBusyDay })
  const field = page.getByRole('textbox', { name: 'What should be done?' })
  await expect.poll(() => field.evaluate(element => element === document.activeElement)).toBe(true)
  let release = () => {}
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  await page.route('**/FleetPage-*.js', async route => {
    await released
    await route.continue()
  })
  const asked = page.waitForRequest('**/FleetPage-*.js')
  await page.keyboard.press('Escape')
  await page.keyboard.press('f')
  await asked
  await page.keyboard.press('h')
  await page.keyboard.type('now')
  await expect.poll(() => field.inputValue()).toBe('now')
  expect(await page.getByRole('dialog').count()).toBe(0)
  release()
  await close()
})

test('who adds the first folder and types on has every letter in the field that comes', async () => {
  const { page, api, close } = await dashboard.open({
    scene: canned => {
      canned.demo = null
      canned.projects = []
    },
  })
  const folder = page.getByLabel('Folder on this machine')
  await folder.waitFor()
  await expect.poll(() => folder.evaluate(element => element === document.activeElement)).toBe(true)
  for (const key of ['click', 'Enter'] as const) {
    api.projects = []
    await page.evaluate(() => localStorage.clear())
    await page.reload()
    await folder.fill('/code/new')
    if (key === 'click') await page.getByRole('button', { name: 'Add', exact: true }).click()
    else await page.keyboard.press('Enter')
    await page.keyboard.type(BLIND)
    const field = page.getByRole('textbox', { name: 'What should be done?' })
    await field.waitFor()
    await page.keyboard.type('!')
    await expect.poll(() => field.inputValue()).toBe(`${BLIND}!`)
    expect(await page.getByRole('dialog').count()).toBe(0)
  }
  await close()
})
