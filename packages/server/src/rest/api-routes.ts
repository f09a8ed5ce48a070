import type { IncomingMessage } from 'node:http'
import type { Centre } from '@chirality/centre'
import { deviceCookieHeader, readDeviceCookie, removeDeviceCookieHeader } from '../browsers/device-cookie.ts'
import type { SignedInBrowsers } from '../browsers/signed-in-browsers.ts'
import { ENDPOINTS } from '../contract/endpoints.ts'
import { openApi } from '../contract/openapi.ts'
import { type Keys, LINK_MINUTES, type LinkUse } from '../guard/keys.ts'
import { RateLimit } from '../guard/rate-limit.ts'
import { HttpError } from '../http/http-error.ts'
import type { Route } from '../http/routes.ts'
import { mcpRoutes } from '../mcp/mcp-routes.ts'
import type { AppRouter } from '../trpc/router.ts'
import { coreRoutes } from './core-routes.ts'
import { harnessRoutes } from './harness-routes.ts'
import { loopRoutes } from './loop-routes.ts'
import { OpenStreams } from './open-streams.ts'
import { route } from './route.ts'
import { serveTrpcRequest } from './trpc-route.ts'

export interface ApiOptions extends BasicRouteOptions {
  centre: Centre
  router: AppRouter
  onFault: (error: unknown) => void
}

export interface Api {
  routes: Route[]
  /** Ends streams that would otherwise stay open, once the logs are closed. */
  close(): Promise<void>
}

/** Every route there is, apart from the files of the dashboard. */
export function apiRoutes(options: ApiOptions): Api {
  const { centre, keys, version, router, onFault } = options
  const trpc: Omit<Route, 'method'> = {
    endpoint: null,
    path: '/trpc/*',
    kind: 'call',
    handle: request => serveTrpcRequest(request, { router, centre, keys, onFault }),
  }
  const streams = new OpenStreams()
  return {
    routes: [
      ...basicRoutes(options),
      ...harnessRoutes(centre, streams),
      ...loopRoutes(centre, streams),
      ...coreRoutes(centre, streams),
      ...mcpRoutes(centre, keys),
      route(ENDPOINTS.openApi, ({ reply }) => reply(openApi(version))),
      { method: 'GET', ...trpc },
      { method: 'POST', ...trpc },
    ],
    close: () => streams.close(),
  }
}

interface BasicRouteOptions {
  keys: Keys
  browsers: SignedInBrowsers
  version: string
  /** The network address of a client. */
  addressOf: (request: IncomingMessage) => string | null
}

/** The server's identity, and the sign-in: by a link, once, and then by the browser's own key or cookie. */
function basicRoutes({ keys, browsers, version, addressOf }: BasicRouteOptions): Route[] {
  const mistakes = new RateLimit({ burst: MISTAKE_BURST, perSecond: MISTAKES_PER_SECOND })
  // Failed guesses are rate limited; a valid link or key is accepted, however many guesses arrive meanwhile.
  const refuse = (error: HttpError): never => {
    if (!mistakes.take())
      throw new HttpError(429, 'too-many', 'Too many attempts. Wait a minute and try again.')
    throw error
  }
  return [
    route(ENDPOINTS.health, ({ reply }) => reply({ status: 'ok', name: 'chirality', version })),

    route(ENDPOINTS.signIn, async ({ request, response, readBody, reply }) => {
      const body = await readBody(SIGN_IN_LIMITS)
      const { origin, 'user-agent': userAgent } = request.headers
      const arrival = { origin, userAgent, address: addressOf(request) }
      if ('secret' in body) {
        const use = keys.useLink(body.secret)
        if (use !== 'good') return refuse(new HttpError(401, LINK_CODES[use], LINK_REFUSALS[use]))
        const { token, browser, cookie } = await browsers.add(arrival, body.key)
        if (cookie !== undefined) response.setHeader('set-cookie', deviceCookieHeader(cookie))
        return reply({ token, browser })
      }
      const proof = { ...body, id: body.browser }
      const token = await browsers.comeBack(proof, arrival)
      if (token === undefined) return refuse(new HttpError(401, 'sign-in', UNKNOWN_BROWSER))
      return reply({ token, browser: body.browser })
    }),

    route(ENDPOINTS.challenge, ({ reply }) => reply({ challenge: browsers.newChallenge() })),

    route(ENDPOINTS.device, async ({ request, response, reply }) => {
      const { origin } = request.headers
      const cookie = readDeviceCookie(request)
      const token =
        cookie && (await browsers.comeBackByCookie(cookie, { origin, address: addressOf(request) }))
      if (cookie === undefined || token === undefined) {
        if (cookie !== undefined) response.setHeader('set-cookie', removeDeviceCookieHeader())
        return refuse(new HttpError(401, 'sign-in', UNKNOWN_BROWSER))
      }
      // Sent again, so that the time for which the browser keeps it starts again.
      response.setHeader('set-cookie', deviceCookieHeader(cookie))
      return reply({ token, browser: cookie.id })
    }),
  ]
}

/** Needs no token. */
const SIGN_IN_LIMITS = { maxBytes: 1024, withinMs: 5_000 }
const MISTAKE_BURST = 20
const MISTAKES_PER_SECOND = 1

const LINK_CODES: Record<Exclude<LinkUse, 'good'>, string> = {
  used: 'link-used',
  expired: 'link-expired',
  unknown: 'sign-in',
}
const LINK_REFUSALS: Record<Exclude<LinkUse, 'good'>, string> = {
  used: 'This link was used before: each signs one browser in. `chirality link` prints a new one.',
  expired: `This link is older than ${LINK_MINUTES} minutes. \`chirality link\` prints a new one.`,
  unknown: 'This link is not of this start of the server. `chirality link` prints a new one.',
}
const UNKNOWN_BROWSER =
  'This browser is not signed in here any more. `chirality link` prints a link that signs it in.'
