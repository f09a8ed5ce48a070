import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { notifyOn } from '../notices/notify.ts'
import { FleetStore } from '../state/fleet/fleet-store.ts'
import { followFleet } from '../state/fleet/follow-fleet.ts'
import { FleetContext } from '../state/fleet/use-fleet.ts'
import type { ServerApi } from '../state/server/server-api.ts'
import { ApiContext } from '../state/server/use-api.ts'
import { SessionHub } from '../state/session/session-hub.ts'
import { SessionHubContext } from '../state/session/use-session.ts'
import { toasts } from '../ui/overlay/toast-store.ts'
import { ErrorBoundary } from './faults.tsx'
import { router } from './router.tsx'
import { openOnNotification, shownSession } from './shown-session.ts'
import { ServerDown } from './sign-in/ServerDown.tsx'

const FRESH_MS = 30_000

/** Everything that lives as long as the page. */
function App({ api }: { api: ServerApi }) {
  const [fleet] = useState(() => new FleetStore())
  const [hub] = useState(() => new SessionHub(api, message => toasts.error(message)))
  const [queries] = useState(
    () => new QueryClient({ defaultOptions: { queries: { staleTime: FRESH_MS, retry: 1 } } }),
  )
  useEffect(() => followFleet(api, fleet), [api, fleet])
  useEffect(() => notifyOn(fleet, shownSession), [fleet])
  useEffect(openOnNotification, [])
  return (
    <ErrorBoundary>
      <ApiContext value={api}>
        <FleetContext value={fleet}>
          <SessionHubContext value={hub}>
            <QueryClientProvider client={queries}>
              <RouterProvider router={router} />
            </QueryClientProvider>
          </SessionHubContext>
        </FleetContext>
      </ApiContext>
    </ErrorBoundary>
  )
}

/** The app, unless the server cannot be reached even once: an empty dashboard would say that there is nothing. */
export function FirstConnection({ api }: { api: ServerApi }) {
  const [reach, setReach] = useState<'trying' | 'failed' | 'reached'>('trying')
  useEffect(
    () =>
      api.watchConnection(state => {
        if (state === 'connected') setReach('reached')
        else if (state === 'offline') setReach(now => (now === 'trying' ? 'failed' : now))
      }),
    [api],
  )
  return reach === 'failed' ? <ServerDown /> : <App api={api} />
}
