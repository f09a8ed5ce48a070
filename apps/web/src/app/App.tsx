import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { notifyOn } from '../notices/notify.ts'
import type { Connection } from '../state/connection.ts'
import { FleetContext } from '../state/fleet/use-fleet.ts'
import { ApiContext } from '../state/server/use-api.ts'
import { SessionHubContext } from '../state/session/use-session.ts'
import { ErrorBoundary } from './faults.tsx'
import { router } from './router.tsx'
import { openOnNotification, shownSession } from './shown-session.ts'
import { ServerDown } from './sign-in/ServerDown.tsx'

const FRESH_MS = 30_000

/** Everything that lives as long as the page. */
function App({ connection }: { connection: Connection }) {
  const { api, fleet, hub } = connection
  const [queries] = useState(
    () => new QueryClient({ defaultOptions: { queries: { staleTime: FRESH_MS, retry: 1 } } }),
  )
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
export function FirstConnection({ connection }: { connection: Connection }) {
  const { api } = connection
  const [reach, setReach] = useState<'trying' | 'failed' | 'reached'>('trying')
  useEffect(
    () =>
      api.watchConnection(state => {
        if (state === 'connected') setReach('reached')
        else if (state === 'offline') setReach(now => (now === 'trying' ? 'failed' : now))
      }),
    [api],
  )
  return reach === 'failed' ? <ServerDown /> : <App connection={connection} />
}
