import { refusedBy, type ServerAddress } from './server-refused.ts'

/**
 * A stream of the HTTP API: a turn, the events of a session or of a loop. Resolves when the server has taken the request,
 * and then yields the JSON of each event; leaving the loop or aborting `signal` ends the stream.
 */
export async function openStream<Event>(
  server: ServerAddress,
  path: string,
  { body, signal }: { body?: unknown; signal?: AbortSignal } = {},
): Promise<AsyncGenerator<Event>> {
  const response = await fetch(`${server.url}${path}`, {
    headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
    ...(signal && { signal }),
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    throw refusedBy(server, undefined, error)
  })
  if (response.ok && response.body !== null) return eventsIn<Event>(response.body)
  const answer: unknown = await response.json().catch(() => undefined)
  throw refusedBy(server, answer, `it said ${response.status}`)
}

async function* eventsIn<Event>(body: ReadableStream<Uint8Array>): AsyncGenerator<Event> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines)
      if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as Event
  }
}
