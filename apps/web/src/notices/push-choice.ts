import type { Client } from '@chirality/client'
import type { PushDetail } from '../state/server/answers.ts'

/** Lets the server send messages to this browser, through the push service of its maker. */
export async function startPush(client: Client, publicKey: string, show: PushDetail): Promise<void> {
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
  await client.system.subscribePush.mutate({
    endpoint,
    keys: { p256dh: keys.p256dh ?? '', auth: keys.auth ?? '' },
    show,
  })
}

/** The server forgets the subscription first: from then on nothing is sent, whatever the browser does with its part. */
export async function stopPush(client: Client): Promise<void> {
  await client.system.unsubscribePush.mutate()
  const registration = await navigator.serviceWorker?.getRegistration()
  await (await registration?.pushManager?.getSubscription())?.unsubscribe()
}
