import { z } from 'zod'
import { parseBrowserKey } from '../browsers/browser-key.ts'
import { BROWSER_ID, type SignedInBrowsers } from '../browsers/signed-in-browsers.ts'
import { HttpError } from '../errors/call-error.ts'
import { type Keys, LINK_MINUTES, type LinkUse } from '../guard/keys.ts'
import { RateLimit } from '../guard/rate-limit.ts'
import { readBody } from '../http/read-body.ts'
import { sendJson } from '../http/respond.ts'
import type { Route } from '../http/routes.ts'

/** Who we are, and the ways in: by a link, once, and then by the key that the browser made for itself. */
export function basicRoutes(keys: Keys, browsers: SignedInBrowsers, version: string): Route[] {
  const mistakes = new RateLimit({ burst: MISTAKE_BURST, perSecond: MISTAKES_PER_SECOND })
  // Who guesses is slowed down; who has the link or the key is let in, however many guess meanwhile.
  const refuse = (error: HttpError): never => {
    if (!mistakes.take())
      throw new HttpError(429, 'too-many', 'Too many attempts. Wait a minute and try again.')
    throw error
  }
  return [
    {
      method: 'GET',
      path: '/healthz',
      kind: 'page',
      handle: ({ response }) => sendJson(response, 200, { status: 'ok', name: 'chirality', version }),
    },
    {
      method: 'POST',
      path: '/api/sign-in',
      kind: 'sign-in',
      handle: async ({ request, response }) => {
        const body = await readBody(request, SIGN_IN, SIGN_IN_LIMITS)
        const { origin, 'user-agent': userAgent } = request.headers
        if ('secret' in body) {
          const use = keys.useLink(body.secret)
          if (use !== 'good') return refuse(new HttpError(401, LINK_CODES[use], LINK_REFUSALS[use]))
          return sendJson(response, 200, await browsers.add({ origin, userAgent }, body.key))
        }
        const proof = { ...body, id: body.browser }
        const token = await browsers.comeBack(proof, origin)
        if (token === undefined) return refuse(new HttpError(401, 'sign-in', UNKNOWN_BROWSER))
        return sendJson(response, 200, { token, browser: body.browser })
      },
    },
    {
      method: 'POST',
      path: '/api/sign-in/challenge',
      kind: 'sign-in',
      handle: ({ response }) => sendJson(response, 200, { challenge: browsers.newChallenge() }),
    },
  ]
}

export const SIGN_IN = z.union([
  z.strictObject({
    secret: z.string().min(1).max(128),
    key: z
      .string()
      .max(256)
      .refine(
        key => parseBrowserKey(key) !== undefined,
        'must be an ECDSA key on P-256, as SPKI in base64url',
      )
      .optional(),
  }),
  z.strictObject({
    browser: z.string().regex(BROWSER_ID),
    challenge: z.string().max(128),
    signature: z.string().max(128),
  }),
])
/** Anybody may begin one. */
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
