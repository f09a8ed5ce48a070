import { PERMISSION_WORDS } from '@chirality/core'
import { encode } from 'uqr'
import { expect, test } from 'vitest'
import { axeViolations, axeViolationsInBothSchemes } from '../support/axe.ts'
import { choose, picker } from '../support/choose.ts'
import { useDashboard } from '../support/page.ts'
import { aBusyDay } from '../support/scenes.ts'
import { aUsage } from '../support/statuses.ts'

const dashboard = useDashboard()
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

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

const aMonth: typeof aBusyDay = api => {
  aBusyDay(api)
  api.usage = days =>
    aUsage(
      days,
      days === 1
        ? [{ usd: 14.82, tokens: 90_000 }]
        : [
            { time: '2026-11-08', usd: 6.9, tokens: 30_000 },
            { time: '2026-11-09', usd: 24.6, tokens: 80_000, isEstimate: true },
            { time: '2026-11-09', projectRoot: '/code/ledger', harness: 'codex', tokens: 4_000, usd: 7.2 },
          ],
      {
        ...{ sessionCount: 3, deleted: { sessions: 2, usd: 1.5, tokens: 9_000 } },
        sessions: [
          {
            ...{
              sessionId: 's1',
              title: 'Fix CRLF handling',
              projectRoot: '/code/parser-kit',
              persona: null,
            },
            ...{ harness: 'claude-code', model: 'opus', usd: 24.6, isEstimate: true },
            ...{ tokens: 80_000, unpricedTokens: 0 },
          },
        ],
        plans: [
          {
            ...{ harness: 'claude-code', at: '2026-01-01T12:00:00.000Z' },
            windows: [
              { name: '5 hours', minutes: 300, usedPercent: 62, resetsAt: '2199-01-01T00:00:00.000Z' },
              { name: 'week', usedPercent: 31, resetsAt: '2020-01-01T00:00:00.000Z' },
            ],
          },
        ],
      },
    )
}

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
    expect(await tip.innerText()).toMatch(
      /Monday 9 November\s+≈ \$31\.80\s+parser-kit\s+≈ \$24\.60\s+ledger\s+\$7\.20/,
    )
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
    await page
      .getByRole('listbox', { name: /over time/ })
      .getByRole('option')
      .nth(23)
      .waitFor({ state: 'attached' })
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

test.each([{}, PHONE])('a phone is signed in by a code, and sent out by key: %o', async size => {
  const { page, api, complaints, close } = await dashboard.open({
    ...{ path: '/settings/devices', scene: aBusyDay, ...size },
  })
  const url = 'https://machine.tailnet.example/#sign-in=nW3k2Jb0m0Qyq0V0m1nW3k2Jb0m0Qyq0V0m1nW3k2Jb'
  const seen = new Date(Date.now() - 5 * 60_000).toISOString()
  const known = { origin: 'https://machine.tailnet.example', address: '100.64.0.7', remembered: true }
  api.browsers = [
    { ...known, id: '1', name: 'Safari on iPhone', ...LAST(seen), isConnected: false, isCaller: false },
    { ...known, id: '2', name: 'Chrome on Linux', ...LAST(seen), isConnected: true, isCaller: true },
  ]
  await page.reload()
  const phone = page.getByRole('listitem').filter({ hasText: 'Safari on iPhone' })
  await phone.getByText('https://machine.tailnet.example · 100.64.0.7 · last seen 5 min ago').waitFor()
  await page.getByText('Chrome on Linux (this browser)').waitFor()
  await page.getByText(/open now$/).waitFor()

  // On this machine only: no code that a phone could do nothing with.
  const add = page.getByRole('button', { name: 'Add a device' })
  await add.focus()
  await page.keyboard.press('Enter')
  await page.getByText('A phone cannot reach this server').waitFor()
  await page.getByText('chirality serve --expose tailscale').waitFor()
  expect(await page.getByRole('img', { name: 'QR code of the link' }).count()).toBe(0)

  api.signInLink = { url, minutes: 10, reach: 'network' }
  await page.keyboard.press('Enter')
  const code = page.getByRole('img', { name: 'QR code of the link' })
  await code.waitFor()
  const drawn = await code.locator('path').getAttribute('d')
  const modules = encode(url, { ecc: 'M', border: 4 }).data.flatMap((row, y) =>
    row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : [])),
  )
  expect(drawn).toBe(modules.join(''))
  const box = await code.boundingBox()
  expect(box?.width).toBeGreaterThanOrEqual(200)
  expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)
  expect(await axeViolations(page)).toEqual([])

  await page.getByRole('button', { name: 'Sign out Safari on iPhone' }).focus()
  await page.keyboard.press('Enter')
  await phone.waitFor({ state: 'detached' })
  expect(api.called('system.revokeBrowser')).toEqual([{ id: '1' }])
  expect(complaints).toEqual([])
  await close()
})

const LAST = (at: string) => ({ lastSignInAt: at, lastSeenAt: at })

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

const PLAN = {
  ...{ can: true, branches: ['main', 'next'], branch: 'main', commit: 'a'.repeat(40) },
  ...{ uncommitted: 2, hasLfsPointers: false, othersAtWork: 1 },
}

test('where another session works in the folder a worktree is offered first, and a choice is remembered', async () => {
  const scene: typeof aBusyDay = api => {
    aBusyDay(api)
    api.worktreePlan = PLAN
  }
  const { page, api, complaints, close } = await dashboard.open({ scene, ...PHONE })
  await picker(page, 'Works in').getByText('Own worktree').waitFor()
  expect(await axeViolations(page)).toEqual([])
  const field = page.getByRole('textbox', { name: 'What should be done?' })
  await field.fill('Fix the login\nand test it')
  await field.press('Enter')
  await page.waitForURL('**/s/s1')
  expect(api.called('sessions.create')).toMatchObject([{ title: 'Fix the login', worktree: {} }])

  await page.goto(page.url().replace(/\/s\/s1.*/, '/'))
  await choose(page, 'Works in', 'Project folder')
  await field.fill('Another')
  await field.press('Enter')
  await page.waitForURL('**/s/s1')
  expect(api.called('sessions.create')[1]).not.toHaveProperty('worktree')
  await page.goto(page.url().replace(/\/s\/s1.*/, '/'))
  await picker(page, 'Works in').getByText('Project folder').waitFor()
  expect(complaints).toEqual([])
  await close()
})

test('a session in a worktree shows its branch and path, and a removed worktree can be restored', async () => {
  const worktree = {
    ...{
      id: 'fix-1',
      folder: '/data/worktrees/fix-1/parser-kit',
      branch: 'chirality/fix',
      baseBranch: 'main',
    },
  }
  const scene: typeof aBusyDay = api => {
    aBusyDay(api)
    const status = api.statuses.get('s1')
    if (status) api.statuses.set('s1', { ...status, worktree })
    api.worktrees = [{ id: 'fix-1', condition: 'missing' }]
    api.overlaps = [
      {
        ...{ sessionId: 's2', title: 'The other one', branch: 'chirality/other', inSameFolder: false },
        files: [{ path: 'src/a.ts', conflicts: true, own: [[3, 5]], theirs: [[4, 4]] }],
      },
    ]
    api.files[''] = [{ name: 'a.ts', kind: 'file' }]
    api.texts['a.ts'] = 'one\ntwo\nthree\n'
    const turn = { sessionId: 's1', turnId: 't1', title: null, harness: 'codex', model: 'gpt', at: null }
    api.blames['a.ts'] = {
      path: 'a.ts',
      lines: [
        { line: 1, count: 1, origin: { kind: 'between', since: null, until: null } },
        { line: 2, count: 2, origin: { kind: 'turns', turns: ['s1/t1'], isSure: true } },
      ],
      turns: {
        's1/t1': { ...turn, prompt: 'Add two lines', costUsd: 0.12, costIsEstimate: false, isDeleted: false },
      },
    }
  }
  const { page, api, complaints, close } = await dashboard.open({ path: '/s/s1', scene })
  await page.locator('.top-bar').getByText('chirality/fix').waitFor()
  await expect
    .poll(() => api.called('files.diff')[0], { timeout: 30_000 })
    .toEqual({ project: '/code/parser-kit', sessionId: 's1' })
  await page.getByText('The folder of this session’s worktree is gone.').waitFor()
  expect(await axeViolations(page)).toEqual([])
  await page.getByRole('button', { name: 'Restore', exact: true }).press('Enter')
  await page.getByText('The folder of this session’s worktree is gone.').waitFor({ state: 'detached' })
  expect(api.called('worktrees.restore')).toEqual([{ id: 'fix-1' }])
  await page.getByRole('tab', { name: 'Files' }).click()
  await page.getByText(worktree.folder).waitFor()

  // Which turn wrote a line: by its number, or under the pointer.
  await page.getByRole('treeitem', { name: 'a.ts' }).click()
  expect(api.called('files.blame')).toEqual([])
  await page.getByRole('spinbutton', { name: 'Who wrote line' }).fill('1')
  const who = page.locator('.who-wrote')
  await who.getByText('Not in a turn').waitFor()
  await page.locator('.file__text code').hover({ position: { x: 5, y: 25 } })
  await who.getByText('$0.12 for the turn').waitFor()
  expect(await who.getByRole('link', { name: '“Add two lines”' }).getAttribute('href')).toBe('/s/s1/t/t1')
  expect(api.called('files.blame')).toEqual([{ project: '/code/parser-kit', sessionId: 's1', path: 'a.ts' }])

  // Another session changed the same lines.
  await page.getByText('1 other session changed 1 file of this one').press('Enter')
  await page.getByText('src/a.ts: here lines 3–5, there line 4 · would not merge').waitFor()
  expect(await page.getByRole('link', { name: 'The other one' }).getAttribute('href')).toBe('/s/s2')
  expect(await axeViolations(page)).toEqual([])
  expect(complaints).toEqual([])
  await close()
})
