import { withQueries } from '@chirality/client/queries'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { notifyOn } from '../notices/notify.ts'
import type { Connection } from '../state/connection.ts'
import { FleetContext } from '../state/fleet/use-fleet.ts'
import { ServerContext } from '../state/server/use-client.ts'
import { SessionHubContext } from '../state/session/use-session.ts'
import { ErrorBoundary } from './faults.tsx'
import { router } from './router.tsx'
import { openOnNotification, shownSession } from './shown-session.ts'
import { ServerDown } from './sign-in/ServerDown.tsx'

const FRESH_MS = 30_000

/** Everything that lives as long as the page. */
function App({ connection }: { connection: Connection }) {
  const { live, fleet, hub } = connection
  const [{ queries, server }] = useState(() => {
    const queries = new QueryClient({ defaultOptions: { queries: { staleTime: FRESH_MS, retry: 1 } } })
    return { queries, server: { client: withQueries(live.calls, queries), connection } }
  })
  useEffect(() => notifyOn(fleet, shownSession), [fleet])
  useEffect(openOnNotification, [])
  return (
    <ErrorBoundary>
      <ServerContext value={server}>
        <FleetContext value={fleet}>
          <SessionHubContext value={hub}>
            <QueryClientProvider client={queries}>
              <RouterProvider router={router} />
            </QueryClientProvider>
          </SessionHubContext>
        </FleetContext>
      </ServerContext>
    </ErrorBoundary>
  )
}

/** The app, unless the server cannot be reached even once: an empty dashboard would say that there is nothing. */
export function FirstConnection({ connection }: { connection: Connection }) {
  const { live } = connection
  const [reach, setReach] = useState<'trying' | 'failed' | 'reached'>('trying')
  useEffect(
    () =>
      live.watchConnection(state => {
        if (state === 'connected') setReach('reached')
        else if (state === 'offline') setReach(now => (now === 'trying' ? 'failed' : now))
      }),
    [live],
  )
  return reach === 'failed' ? <ServerDown /> : <App connection={connection} />
}
