import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { notifyOn } from '../notices/notify.ts'
import { FleetStore } from '../state/fleet/fleet-store.ts'
import type { ServerApi } from '../state/server/server-api.ts'
import { SessionHub } from '../state/session/session-hub.ts'
import { ApiContext } from '../state/server/use-api.ts'
import { FleetContext } from '../state/fleet/use-fleet.ts'
import { SessionHubContext } from '../state/session/use-session-hub.ts'
import { toasts } from '../ui/overlay/toast-store.ts'
import { ErrorBoundary } from './ErrorBoundary.tsx'
import { followFleet } from '../state/fleet/follow-fleet.ts'
import { router } from './router.tsx'
import { openOnNotification, shownSession } from './shown-session.ts'

const FRESH_MS = 30_000

/** Everything that lives as long as the page. */
export function App({ api }: { api: ServerApi }) {
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
