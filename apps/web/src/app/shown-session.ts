import type { ShownSession } from '../notices/notify.ts'
import { addressOf, subjectToOpen } from '../worker/worker-messages.ts'
import { router } from './router.tsx'

/** The session of the address. */
export const shownSession: ShownSession = {
  get: () => {
    const match = router.state.matches.find(({ params }) => 'sessionId' in params)
    return match && 'sessionId' in match.params ? match.params.sessionId : undefined
  },
  onChange: listener => router.subscribe('onResolved', listener),
}

/** The worker says which notification was chosen; the way there is ours. */
export function openOnNotification(): (() => void) | undefined {
  const worker = navigator.serviceWorker as ServiceWorkerContainer | undefined
  if (!worker) return undefined
  const onMessage = ({ data }: MessageEvent) => {
    const subject = subjectToOpen(data)
    if (subject !== undefined) router.history.push(addressOf(subject))
  }
  worker.addEventListener('message', onMessage)
  return () => worker.removeEventListener('message', onMessage)
}
