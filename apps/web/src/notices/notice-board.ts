import { type Notice, type NoticeSubject, subjectOf } from './notice.logic.ts'

/**
 * The notifications of this browser, through the worker: phones let no page notify by itself. All tabs share them. One after
 * the other, so that taking one back never overtakes showing it.
 */
let last: Promise<unknown> = Promise.resolve()

/** `isWanted` is asked when its turn comes. */
export function showNotice(notice: Notice, isWanted: () => Promise<boolean>): Promise<void> {
  return next(async registration => {
    if (!(await isWanted())) return
    const { title, body, ...data } = notice
    const options = { body, data, tag: notice.sessionId, icon: '/icon-192.png', badge: '/badge-96.png' }
    // With the tag alone the next question of a session would replace the one before without a sound.
    await registration.showNotification(title, { ...options, renotify: true } as NotificationOptions)
  })
}

/** Takes back those of a session, or only those that are over. */
export function withdrawNotices(
  sessionId: string,
  isOver: (subject: NoticeSubject) => boolean = () => true,
): Promise<void> {
  return next(async registration => {
    for (const notification of await registration.getNotifications({ tag: sessionId })) {
      const subject = subjectOf(notification.data)
      if (subject === undefined || isOver(subject)) notification.close()
    }
  })
}

export function withdrawAll(): Promise<void> {
  return next(async registration => {
    for (const notification of await registration.getNotifications()) notification.close()
  })
}

/** Without a worker there is nothing to show or to take back; a browser that refuses is no fault of the page. */
function next(task: (registration: ServiceWorkerRegistration) => Promise<void>): Promise<void> {
  const done = last.then(async () => {
    const registration = await navigator.serviceWorker?.getRegistration()
    if (registration?.active) await task(registration)
  })
  last = done.catch(() => undefined)
  return last as Promise<void>
}
