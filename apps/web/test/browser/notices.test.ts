import type { PermissionRequestEvent } from '@chirality/core'
import type { BrowserContext, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { axeViolations } from '../support/axe.ts'
import { CannedApi } from '../support/canned-api.ts'
import { collectComplaints } from '../support/complaints.ts'
import {
  allowNotifications,
  clickNotification,
  notificationLog,
  permissionQuestions,
  setLooking,
  shownNotifications,
} from '../support/notifications.ts'
import { useServedDashboard } from '../support/page.ts'
import { aBusyDay } from '../support/scenes.ts'
import { workerInCharge } from '../support/worker.ts'

const served = useServedDashboard()

async function newContext(permission: NotificationPermission = 'granted') {
  const context = await served.browser.newContext({
    viewport: { width: 1440, height: 900 },
    serviceWorkers: 'allow',
  })
  onTestFinished(() => context.close())
  await allowNotifications(context, permission)
  const api = new CannedApi()
  aBusyDay(api)
  return { context, api }
}

async function openTab(context: BrowserContext, api: CannedApi, path: string): Promise<Page> {
  const page = await context.newPage()
  await api.connect(page)
  await page.goto(`${served.url}${path}#sign-in=secret`)
  await page.getByText('Connected', { exact: true }).waitFor()
  await page.getByRole('button', { name: '2 need you' }).waitFor()
  await workerInCharge(page)
  return page
}

function ask(api: CannedApi, sessionId: string, requestId: string, command: string): void {
  const request: PermissionRequestEvent = {
    ...{ type: 'permission:request', sessionId, requestId, kind: 'tool', toolName: 'Bash', raw: null },
    input: { command },
  }
  api.setStatus(sessionId, { phase: 'waiting', pending: [request] })
}

const tags = async (page: Page) => (await shownNotifications(page)).map(({ tag }) => tag)

test('a session that is not looked at asks or ends: it is told, and taken back when it is answered or looked at', async () => {
  const { context, api } = await newContext()
  const page = await openTab(context, api, '/s/s1')
  const complaints = collectComplaints(page)
  // The one that is looked at first: had it been told, that would be so before the other one is.
  ask(api, 's1', 'new', 'npm run build')
  ask(api, 's3', 'r3', 'rm -r docs')
  await expect
    .poll(() => shownNotifications(page))
    .toEqual([{ title: 'Docs for the API', body: 'wants to run rm -r docs', tag: 's3' }])

  // Answered elsewhere.
  api.setStatus('s3', { phase: 'running', pending: [] })
  await expect.poll(() => shownNotifications(page)).toEqual([])

  api.setStatus('s3', { phase: 'idle', lastTurn: 'completed' })
  api.setStatus('s4', { phase: 'idle', lastTurn: 'failed' })
  await expect
    .poll(() => shownNotifications(page).then(all => all.map(({ body }) => body).sort()))
    .toEqual(['ended: failed', 'is done'])
  // At work again.
  api.setStatus('s4', { phase: 'running' })
  await expect.poll(() => tags(page)).toEqual(['s3'])
  // Looked at.
  await page.getByRole('link', { name: /Docs for the API/ }).click()
  await expect.poll(() => tags(page)).toEqual([])
  // Deleted.
  ask(api, 's4', 'r4', 'npm test')
  await expect.poll(() => tags(page)).toEqual(['s4'])
  api.remove('s4')
  await expect.poll(() => tags(page)).toEqual([])
  await expect.poll(() => page.getByRole('link', { name: /Loop: backlog/ }).count()).toBe(0)
  expect(complaints).toEqual([])
})

test('a page that nobody looks at tells of the session that it shows, too, until somebody comes back', async () => {
  const { context, api } = await newContext()
  const page = await openTab(context, api, '/s/s3')
  await setLooking(page, false)
  ask(api, 's3', 'r3', 'npm test')
  await expect.poll(() => tags(page)).toEqual(['s3'])
  await setLooking(page, true)
  await expect.poll(() => tags(page)).toEqual([])
})

test('two tabs tell once, and not of what the other one looks at; one that is left goes on alone', async () => {
  const { context, api } = await newContext()
  const first = await openTab(context, api, '/fleet')
  const second = await openTab(context, api, '/s/s3')
  ask(api, 's3', 'r3', 'npm test')
  ask(api, 's4', 'r4', 'npm run lint')
  for (const page of [first, second]) await page.getByRole('button', { name: '4 need you' }).waitFor()
  await expect.poll(() => tags(second)).toEqual(['s4'])
  for (const page of [first, second]) await settle(page)
  expect(await notificationLog(second)).toEqual(['Loop: backlog.md: wants to run npm run lint'])

  await first.close()
  await expect.poll(() => waitsForItsTurn(second)).toBe(false)
  api.setStatus('s4', { phase: 'idle', pending: [], lastTurn: 'completed' })
  await expect
    .poll(() => notificationLog(second))
    .toEqual(['Loop: backlog.md: wants to run npm run lint', 'Loop: backlog.md: is done'])
  expect(await tags(second)).toEqual(['s4'])
})

test('a click on a notification leads to its session', async () => {
  const { context, api } = await newContext()
  const page = await openTab(context, api, '/fleet')
  await clickNotification(context, { kind: 'asks', sessionId: 's1', requestId: 'r1' })
  await page.getByText('Run this command?').waitFor()
  expect(new URL(page.url()).pathname).toBe('/s/s1')
  await clickNotification(context, { sessionId: 7 })
  expect(new URL(page.url()).pathname).toBe('/s/s1')
})

test('the person is asked when they say so, and can turn it off again', async () => {
  const { context, api } = await newContext('default')
  const page = await openTab(context, api, '/')
  ask(api, 's3', 'r3', 'npm test')
  await page.getByRole('button', { name: '3 need you' }).waitFor()
  await settle(page)
  expect(await permissionQuestions(page)).toBe(0)
  expect(await notificationLog(page)).toEqual([])

  const turnOn = page.getByRole('button', { name: 'Turn on' })
  await turnOn.click()
  // The start page only asks; whoever has decided finds it in the settings.
  await turnOn.waitFor({ state: 'detached' })
  expect(await permissionQuestions(page)).toBe(1)
  ask(api, 's4', 'r4', 'npm test')
  await expect.poll(() => tags(page)).toEqual(['s4'])

  await page.keyboard.press('Control+k')
  await page.getByPlaceholder('Find a session or a command').fill('notifications')
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Notifications' })
  await dialog.getByText('Notifications are on').waitFor()
  expect(await axeViolations(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Turn off' }).click()
  await dialog.getByText('Notifications are off').waitFor()
  await expect.poll(() => tags(page)).toEqual([])
  ask(api, 's4', 'r5', 'npm run build')
  ask(api, 's3', 'r6', 'npm run build')
  await settle(page)
  expect(await notificationLog(page)).toHaveLength(1)
})

test('a browser that blocks them is told of, with the way out', async () => {
  const { context, api } = await newContext('denied')
  const page = await openTab(context, api, '/settings/notifications')
  await page.getByText('Your browser blocks notifications of this page').waitFor()
  expect(await page.getByRole('button', { name: 'Turn on' }).count()).toBe(0)
  expect(await axeViolations(page)).toEqual([])
})

/** Whether another tab still speaks for this one. */
function waitsForItsTurn(page: Page): Promise<boolean> {
  return page.evaluate(async () => {
    const { pending = [] } = await navigator.locks.query()
    return pending.some(({ name }) => name === 'chirality-notify')
  })
}

/** Goes the way that a notification goes, twice: one that was on its way is there then. */
async function settle(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (let i = 0; i < 2; i += 1) {
      const registration = await navigator.serviceWorker.getRegistration()
      await navigator.locks.query()
      await registration?.getNotifications()
    }
  })
}
