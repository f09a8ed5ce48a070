import type { SignedInBrowsers } from '../browsers/signed-in-browsers.ts'
import { ENDPOINTS } from '../contract/endpoints.ts'
import { openApi } from '../contract/openapi.ts'
import type { Keys } from '../guard/keys.ts'
import type { Route } from '../http/routes.ts'
import type { AppServices } from '../trpc/context.ts'
import { type AppRouter, callTypes } from '../trpc/router.ts'
import { basicRoutes } from './basic-routes.ts'
import { coreRoutes } from './core-routes.ts'
import { harnessRoutes } from './harness-routes.ts'
import { OpenStreams } from './open-streams.ts'
import { route } from './route.ts'
import { serveTrpcRequest } from './trpc-route.ts'

export interface ApiOptions {
  services: AppServices
  keys: Keys
  browsers: SignedInBrowsers
  version: string
  router: AppRouter
  onFault: (error: unknown) => void
}

export interface Api {
  routes: Route[]
  /** Ends streams that would otherwise stay open, once the logs are closed. */
  close(): Promise<void>
}

/** Every route there is, apart from the files of the dashboard. */
export function apiRoutes({ services, keys, browsers, version, router, onFault }: ApiOptions): Api {
  const trpc: Omit<Route, 'method'> = {
    endpoint: null,
    path: '/trpc/*',
    kind: 'call',
    handle: request => serveTrpcRequest(request, { router, services, onFault }),
  }
  const streams = new OpenStreams()
  return {
    routes: [
      ...basicRoutes(keys, browsers, version),
      ...harnessRoutes(services, streams),
      ...coreRoutes(services, streams),
      route(ENDPOINTS.openApi, ({ reply }) => reply(openApi(version, callTypes(router)))),
      { method: 'GET', ...trpc },
      { method: 'POST', ...trpc },
    ],
    close: () => streams.close(),
  }
}
