import type { PushDetail, ServerApi } from '../state/server/server-api.ts'

/** Lets the server send messages to this browser, through the push service of its maker. */
export async function startPush(api: ServerApi, publicKey: string, show: PushDetail): Promise<void> {
  const { pushManager } = await navigator.serviceWorker.ready
  const key = Uint8Array.from(atob(publicKey.replaceAll('-', '+').replaceAll('_', '/')), char =>
    char.charCodeAt(0),
  )
  const options = { userVisibleOnly: true, applicationServerKey: key }
  // One that was made with the key of another server takes no messages of this one.
  const made = await pushManager.subscribe(options).catch(async () => {
    await (await pushManager.getSubscription())?.unsubscribe()
    return pushManager.subscribe(options)
  })
  const { endpoint = '', keys = {} } = made.toJSON()
  await api.subscribePush({ endpoint, keys: { p256dh: keys.p256dh ?? '', auth: keys.auth ?? '' }, show })
}

/** The server forgets the subscription first: from then on nothing is sent, whatever the browser does with its part. */
export async function stopPush(api: ServerApi): Promise<void> {
  await api.unsubscribePush()
  const registration = await navigator.serviceWorker?.getRegistration()
  await (await registration?.pushManager?.getSubscription())?.unsubscribe()
}
