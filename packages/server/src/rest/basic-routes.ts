import { z } from 'zod'
import type { Keys } from '../guard/keys.ts'
import { RateLimit } from '../guard/rate-limit.ts'
import { HttpError } from '../http/http-error.ts'
import { readBody } from '../http/read-body.ts'
import { sendJson } from '../http/respond.ts'
import type { Route } from '../http/routes.ts'

/** Who we are, and the way in. */
export function basicRoutes(keys: Keys, version: string): Route[] {
  const mistakes = new RateLimit({ burst: MISTAKE_BURST, perSecond: MISTAKES_PER_SECOND })
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
        const { secret } = await readBody(request, SIGN_IN, SIGN_IN_LIMITS)
        const token = keys.signIn(secret)
        // Who guesses is slowed down; who has the link is let in, however many guess meanwhile.
        if (token !== undefined) return sendJson(response, 200, { token })
        if (!mistakes.take()) throw new HttpError(429, 'too-many', 'Too many tries. Wait a moment.')
        throw new HttpError(401, 'sign-in', USED_LINK)
      },
    },
  ]
}

const SIGN_IN = z.strictObject({ secret: z.string().min(1).max(128) })
/** Anybody may begin one. */
const SIGN_IN_LIMITS = { maxBytes: 1024, withinMs: 5_000 }
const MISTAKE_BURST = 20
const MISTAKES_PER_SECOND = 1
const USED_LINK = 'This link was used before, or is of an earlier start. Ask the server for a new one.'
