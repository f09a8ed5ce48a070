import type { IncomingMessage } from 'node:http'
import { HttpError } from '../http/http-error.ts'

/** Where a reader goes on: what its EventSource sends by itself, or `?after=`. Undefined when it says nothing. */
export function cursorOf(request: IncomingMessage, url: URL): number | undefined {
  const given = request.headers['last-event-id'] ?? url.searchParams.get('after') ?? undefined
  if (given === undefined) return undefined
  if (typeof given === 'string' && /^\d{1,15}$/.test(given)) return Number(given)
  throw new HttpError(400, 'invalid-input', 'Last-Event-ID must be the number of an event.')
}
