import type { SignedInBrowsers } from '../browsers/signed-in-browsers.ts'
import { ENDPOINTS } from '../contract/endpoints.ts'
import { HttpError } from '../errors/call-error.ts'
import { type Keys, LINK_MINUTES, type LinkUse } from '../guard/keys.ts'
import { RateLimit } from '../guard/rate-limit.ts'
import type { Route } from '../http/routes.ts'
import { route } from './route.ts'

/** The server's identity, and the sign-in: by a link, once, and then by the key that the browser created. */
export function basicRoutes(keys: Keys, browsers: SignedInBrowsers, version: string): Route[] {
  const mistakes = new RateLimit({ burst: MISTAKE_BURST, perSecond: MISTAKES_PER_SECOND })
  // Failed guesses are rate limited; a valid link or key is accepted, however many guesses arrive meanwhile.
  const refuse = (error: HttpError): never => {
    if (!mistakes.take())
      throw new HttpError(429, 'too-many', 'Too many attempts. Wait a minute and try again.')
    throw error
  }
  return [
    route(ENDPOINTS.health, ({ reply }) => reply({ status: 'ok', name: 'chirality', version })),

    route(ENDPOINTS.signIn, async ({ request, readBody, reply }) => {
      const body = await readBody(SIGN_IN_LIMITS)
      const { origin, 'user-agent': userAgent } = request.headers
      if ('secret' in body) {
        const use = keys.useLink(body.secret)
        if (use !== 'good') return refuse(new HttpError(401, LINK_CODES[use], LINK_REFUSALS[use]))
        return reply(await browsers.add({ origin, userAgent }, body.key))
      }
      const proof = { ...body, id: body.browser }
      const token = await browsers.comeBack(proof, origin)
      if (token === undefined) return refuse(new HttpError(401, 'sign-in', UNKNOWN_BROWSER))
      return reply({ token, browser: body.browser })
    }),

    route(ENDPOINTS.challenge, ({ reply }) => reply({ challenge: browsers.newChallenge() })),
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
