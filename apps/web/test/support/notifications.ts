import type { BrowserContext, Page } from 'playwright-core'

export interface SeenNotification {
  title: string
  body: string
  tag: string
}

/**
 * Lets pages notify, and writes down each time that one does. A whole Chromium has notifications also without a screen; the one
 * inside the npm package has none and refuses for ever, so there the browser's two calls are answered by a list that all tabs share.
 */
export async function allowNotifications(
  context: BrowserContext,
  permission: NotificationPermission = 'granted',
): Promise<void> {
  if (permission === 'granted') await context.grantPermissions(['notifications'])
  await context.addInitScript(standIn, permission)
}

/** Those that the person sees now. */
export function shownNotifications(page: Page): Promise<SeenNotification[]> {
  return page.evaluate(async () => {
    const registration = await navigator.serviceWorker.ready
    const shown = await registration.getNotifications()
    return shown.map(({ title, body, tag }) => ({ title, body, tag }))
  })
}

/** Every time that any tab showed one. */
export function notificationLog(page: Page): Promise<string[]> {
  return page.evaluate(() => JSON.parse(localStorage.getItem('test-log') ?? '[]') as string[])
}

/** How often the page asked the person whether it may. */
export function permissionQuestions(page: Page): Promise<number> {
  return page.evaluate(() => Number(localStorage.getItem('test-asked') ?? 0))
}

/** As if another tab were in front, or this one again. */
export async function setLooking(page: Page, isLooking: boolean): Promise<void> {
  await page.evaluate(looking => {
    Object.defineProperty(document, 'visibilityState', {
      configurable: true,
      get: () => (looking ? 'visible' : 'hidden'),
    })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isLooking)
}

/** What the worker gets when the person clicks a notification. */
export async function clickNotification(context: BrowserContext, data: unknown): Promise<void> {
  const [worker] = context.serviceWorkers()
  await worker?.evaluate(async given => {
    const work: Promise<unknown>[] = []
    const event = Object.assign(new Event('notificationclick'), {
      notification: { data: given, close() {} },
      waitUntil: (promise: Promise<unknown>) => work.push(promise),
    })
    dispatchEvent(event)
    // Only a real click may bring a window to the front.
    await Promise.allSettled(work)
  }, data)
}

function standIn(permission: NotificationPermission): void {
  interface Kept {
    title: string
    body: string
    tag: string
    data: unknown
  }
  const read = <T>(key: string): T[] => JSON.parse(localStorage.getItem(key) ?? '[]')
  const write = (key: string, value: unknown) => localStorage.setItem(key, JSON.stringify(value))
  const prototype = ServiceWorkerRegistration.prototype
  const real = prototype.showNotification
  const isReal = permission === 'granted' && Notification.permission === 'granted'
  prototype.showNotification = async function (title, options = {}) {
    const { body = '', tag = '', data } = options
    write('test-log', [...read('test-log'), `${title}: ${body}`])
    if (isReal) return real.call(this, title, options)
    write('test-shown', [
      ...read<Kept>('test-shown').filter(kept => kept.tag !== tag),
      { title, body, tag, data },
    ])
  }
  if (isReal) return
  let current = permission
  Object.defineProperty(Notification, 'permission', { get: () => current })
  Notification.requestPermission = async () => {
    write('test-asked', Number(localStorage.getItem('test-asked') ?? 0) + 1)
    current = 'granted'
    return current
  }
  prototype.getNotifications = async (filter = {}) =>
    read<Kept>('test-shown')
      .filter(({ tag }) => filter.tag === undefined || filter.tag === tag)
      .map(kept => {
        const close = () =>
          write(
            'test-shown',
            read<Kept>('test-shown').filter(({ tag }) => tag !== kept.tag),
          )
        return { ...kept, close } as unknown as Notification
      })
}
