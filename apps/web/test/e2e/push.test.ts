import { readdirSync } from 'node:fs'
import path from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { cleanHome, type LocalPushService, startPushService } from '@chirality/fixtures'
import { HarnessRegistry, MessagesApiHarness } from '@chirality/runner'
import { startScriptedModel } from '@chirality/scripted-model'
import { startServer } from '@chirality/server'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'
import { axeViolations } from '../support/axe.ts'
import { collectComplaints } from '../support/complaints.ts'
import { allowNotifications } from '../support/notifications.ts'
import { PHONE } from '../support/page.ts'
import { workerInCharge } from '../support/worker.ts'

const MAKES = { text: 'I make it.', tool: 'bash', input: { command: 'echo made > made.txt' } }

let browser: Browser

beforeAll(async () => {
  browser = await launchBrowser()
})

afterAll(() => browser?.close())

/** The server in this process: only there a push service on this machine can be allowed. */
async function startWithAgent() {
  const model = await startScriptedModel({ answers: [MAKES, 'Made.', MAKES, 'Made.'] })
  const { home, project, env, dispose } = await cleanHome(model)
  const harnesses = new HarnessRegistry<SessionHarness>()
  harnesses.register(new MessagesApiHarness({ environment: env }))
  const data = path.join(home, 'chirality')
  const server = await startServer({
    ...{ harnesses, projects: [project], home: data, port: 0, allowLocalPush: true },
    dashboard: path.join(import.meta.dirname, '../../dist'),
  })
  onTestFinished(async () => {
    await server.close()
    await model.close()
    await dispose()
  })
  return { ...server, project, data }
}

/**
 * The browser's own push service is out of reach in a test, so the page is given a subscription to the one here. All else is
 * real: the switch, the server's encryption, the worker.
 */
function subscribesTo({ endpoint, keys }: Pick<LocalPushService, 'endpoint' | 'keys'>): void {
  let made: PushSubscription | null = null
  const prototype = PushManager.prototype
  prototype.subscribe = async options => {
    const key = options?.applicationServerKey
    if (!(key instanceof Uint8Array) || key.length !== 65 || key[0] !== 4)
      throw new Error('This is not the key of a server.')
    made = {
      toJSON: () => ({ endpoint, keys }),
      unsubscribe: async () => {
        made = null
        return true
      },
    } as Partial<PushSubscription> as PushSubscription
    return made
  }
  prototype.getSubscription = async () => made
}

/** The packaged Chromium shows no notifications: there the worker writes down what it would show. */
async function watchWorker(context: BrowserContext) {
  const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent('serviceworker'))
  await worker.evaluate(() => {
    const shown: object[] = []
    const seen = { shown, looks: 0 }
    const { registration, clients } = globalThis as unknown as {
      registration: ServiceWorkerRegistration
      clients: { matchAll(options: object): Promise<unknown[]> }
    }
    const look = clients.matchAll.bind(clients)
    clients.matchAll = async options => {
      const found = await look(options)
      seen.looks += 1
      return found
    }
    const show = registration.showNotification.bind(registration)
    Object.assign(globalThis, { seen })
    registration.showNotification = async (title: string, options: NotificationOptions = {}) => {
      const { body, tag, data } = options
      shown.push({ title, body, tag, data })
      if (Notification.permission === 'granted') await show(title, options)
    }
  })
  /** What it showed, and how often it looked whether a page is in front. */
  return () =>
    worker.evaluate(() => (globalThis as unknown as { seen: { shown: object[]; looks: number } }).seen)
}

/** Hands a message to the worker as the browser does when one comes from its push service. */
async function deliver(page: Page, origin: string, data: string): Promise<void> {
  const client = await page.context().newCDPSession(page)
  const registrationId = new Promise<string>(resolve =>
    client.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const own = registrations.find(({ scopeURL }) => scopeURL === `${origin}/`)
      if (own !== undefined) resolve(own.registrationId)
    }),
  )
  await client.send('ServiceWorker.enable')
  await client.send('ServiceWorker.deliverPushMessage', {
    ...{ origin, registrationId: await registrationId, data },
  })
  await client.detach()
}

const choice = (page: Page) => page.getByRole('radiogroup', { name: 'What a message shows' })

test('a device with no page open hears of a request, with as much as its user chose, until it is switched off', async () => {
  const server = await startWithAgent()
  const service = await startPushService()
  onTestFinished(service.close)
  const context = await browser.newContext({ ...PHONE, serviceWorkers: 'allow' })
  onTestFinished(() => context.close())
  await allowNotifications(context)
  await context.addInitScript(subscribesTo, { endpoint: service.endpoint, keys: service.keys })
  const page = await context.newPage()
  const complaints = collectComplaints(page)
  await page.goto(server.link)
  await page.getByText('Connected', { exact: true }).waitFor({ state: 'attached' })
  await workerInCharge(page)
  const seen = await watchWorker(context)
  await page.goto(`${server.url}/settings/notifications`)

  await expect.poll(() => choice(page).getByRole('radio', { checked: true }).textContent()).toBe('Off')
  await choice(page).getByRole('radio', { name: 'Text' }).tap()
  await expect.poll(() => choice(page).getByRole('radio', { checked: true }).textContent()).toBe('Text')
  const files = () => readdirSync(path.join(server.data, 'push'))
  expect(files()).toHaveLength(1)
  expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)
  expect(await axeViolations(page)).toEqual([])

  const { id: sessionId } = await server.host.createSession(server.project, {
    ...{ harness: 'messages-api', title: 'Fix CRLF handling' },
  })
  const session = await server.host.session(sessionId)
  const ask = async () => {
    await session.start('Go.')
    const { text } = await service.next()
    return { text, requestId: session.status.pending[0]?.requestId }
  }
  const post = (url: string, body: object) =>
    fetch(server.url + url, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const deny = async (requestId: string | undefined) => {
    await post('/api/harness/decisions', { sessionId, requestId, decision: { behavior: 'deny' } })
    await session.settled()
  }

  // The page is in front: it notifies by itself, and the worker is quiet.
  const first = await ask()
  await deliver(page, server.url, first.text)
  await expect.poll(seen).toEqual({ shown: [], looks: 1 })
  const blank = await context.newPage()
  await blank.goto('about:blank')
  await page.close()

  await deliver(blank, server.url, first.text)
  const data = { kind: 'asks', sessionId, requestId: first.requestId }
  await expect
    .poll(async () => (await seen()).shown)
    .toEqual([
      {
        title: 'Fix CRLF handling',
        body: expect.stringContaining(MAKES.input.command),
        tag: sessionId,
        data,
      },
    ])
  await deny(first.requestId)
  expect(JSON.parse((await service.next()).text)).toMatchObject({ body: 'is done' })

  // Less is shown, then nothing is sent any more.
  const again = await context.newPage()
  await again.goto(`${server.url}/settings/notifications`)
  await expect.poll(() => choice(again).getByRole('radio', { checked: true }).textContent()).toBe('Text')
  await choice(again).getByRole('radio', { name: 'Needs you' }).tap()
  await expect.poll(() => choice(again).getByRole('radio', { checked: true }).textContent()).toBe('Needs you')
  const second = await ask()
  expect(JSON.parse(second.text)).toMatchObject({ title: 'Chirality', body: 'A session needs you' })
  await again.getByRole('button', { name: 'Turn off' }).tap()
  await again.getByText('Turn notifications on first.').waitFor()
  await expect.poll(files).toEqual([])
  await deny(second.requestId)
  expect(service.received).toEqual([])
  expect(complaints).toEqual([])
})
