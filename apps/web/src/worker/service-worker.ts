import { isOurs, ShellCache } from './shell-cache.ts'
import { type BuildFacts, treatmentOf } from './worker-files.ts'
import { addressOf, pushMessageOf, type Subject, subjectOf, WORKER_OPENS } from './worker-messages.ts'

declare const self: ServiceWorkerGlobalScope
/** Put here by the build: see vite.worker.ts. */
declare const BUILD: BuildFacts

const shell = new ShellCache(BUILD)

// It takes over at once. Pages of the build before find their parts in the cache of that build, which stays for them.
self.addEventListener('install', event => event.waitUntil(shell.fill().then(() => self.skipWaiting())))
self.addEventListener('activate', event => event.waitUntil(shell.prune().then(() => self.clients.claim())))

self.addEventListener('fetch', event => {
  const treatment = treatmentOf(event.request, self.location.origin)
  if (treatment.kind === 'file') event.respondWith(fileAnswer(event.request, treatment.path))
  else if (treatment.kind === 'page') event.respondWith(pageAnswer(event.request, treatment.path))
})

self.addEventListener('push', event => {
  event.waitUntil(showPush(event.data?.text() ?? ''))
})

self.addEventListener('notificationclick', event => {
  event.notification.close()
  const subject = subjectOf(event.notification.data)
  if (subject !== undefined) event.waitUntil(open(subject))
})

async function fileAnswer(request: Request, path: string): Promise<Response> {
  return (await shell.file(path)) ?? fetch(request)
}

/**
 * A request of our own instead of the browser's: that one, sent on by a worker, no longer says that it is for a document, and
 * the server would refuse a link from another site. What it asks for is public either way.
 */
async function pageAnswer({ headers }: Request, path: string): Promise<Response> {
  let answer: Response
  try {
    answer = await fetch(path, { headers, redirect: 'manual' })
  } catch (error) {
    const kept = await shell.page()
    if (kept === undefined) throw error
    return kept
  }
  // Another program has the port now. It gets no worker of ours in its way.
  if (answer.ok && !isOurs(answer)) {
    await shell.clear()
    await self.registration.unregister()
  }
  return answer
}

/** Not while a page is in front: that one notifies by itself, and knows what the person looks at. */
async function showPush(text: string): Promise<void> {
  const windows = await self.clients.matchAll({ type: 'window' })
  if (windows.some(({ focused, visibilityState }) => focused && visibilityState === 'visible')) return
  const shown = await self.registration.getNotifications()
  const { title, options } = pushMessageOf(text, shown)
  await self.registration.showNotification(title, options)
}

/** In the window that was used last, else in a new one. */
async function open(subject: Subject): Promise<void> {
  const [window] = await self.clients.matchAll({ type: 'window', includeUncontrolled: true })
  if (window === undefined) {
    await self.clients.openWindow(addressOf(subject))
    return
  }
  window.postMessage({ type: WORKER_OPENS, [`${subject.kind}Id`]: subject.id })
  await window.focus()
}
