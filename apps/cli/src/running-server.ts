import { listServerFiles, type ServerFile } from '@chirality/server'
import { userDataFolder } from '@chirality/sessions'

/** Calls a running server with its token. Without a body it is a GET. */
export async function callServer(
  server: ServerFile,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  const response = await fetch(`${server.url}${path}`, {
    ...(signal ? { signal } : {}),
    headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    throw unreachable(server, error instanceof Error ? (error.cause ?? error) : error)
  })
  if (response.ok) return response
  const { error } = (await response.json().catch(() => ({}))) as {
    error?: { code: string | number; message: string; data?: { reason?: string } }
  }
  // Another program may use the port by now.
  if (error === undefined) throw unreachable(server, `it said ${response.status}`)
  throw new ServerRefusedError(error.data?.reason ?? String(error.code), error.message)
}

function unreachable({ url, pid }: ServerFile, why: unknown): ServerRefusedError {
  const reason = why instanceof Error ? why.message : String(why)
  const message = `The server at ${url} (process ${pid}) does not answer: ${reason}. Try again, or stop it.`
  return new ServerRefusedError('unreachable', message)
}

/** The result of a tRPC query with input. */
export async function askProcedure<T>(server: ServerFile, name: string, input: unknown): Promise<T> {
  const query = encodeURIComponent(JSON.stringify(input))
  const { result } = (await (await callServer(server, `/trpc/${name}?input=${query}`)).json()) as {
    result: { data: T }
  }
  return result.data
}

/** The result of a tRPC call: a mutation if there is input, otherwise a query. */
export async function callProcedure<T>(server: ServerFile, name: string, input?: unknown): Promise<T> {
  const response = await callServer(server, `/trpc/${name}`, input)
  const { result } = (await response.json()) as { result: { data: T } }
  return result.data
}

/** The JSON of each event of a stream. */
export async function* eventsIn<T>(response: Response): AsyncGenerator<T> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines)
      if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as T
  }
}

/** A link that signs one browser in. Undefined if the server does not answer, or is another one by now. */
export async function newLink(server: ServerFile): Promise<{ url: string; minutes: number } | undefined> {
  try {
    return await callProcedure(server, 'system.newSignInLink', {})
  } catch (error) {
    if (error instanceof ServerRefusedError) return undefined
    throw error
  }
}

/** The servers of this user that answer. The file of a killed one may still exist. */
export async function runningServers(home: string): Promise<ServerFile[]> {
  const files = await listServerFiles(home)
  const answers = await Promise.all(
    files.map(async server => {
      const info = await fetch(`${server.url}/trpc/system.info`, {
        headers: { authorization: `Bearer ${server.token}` },
        signal: AbortSignal.timeout(ANSWER_MS),
      }).catch(() => undefined)
      return info?.ok ? [server] : []
    }),
  )
  return answers.flat()
}

/** The server that has the project already, else any. */
export async function anyServerFor(project: string): Promise<ServerFile | undefined> {
  const servers = await runningServers(userDataFolder())
  for (const server of servers) {
    const known = await callProcedure<{ root: string }[]>(server, 'projects.list')
    if (known.some(({ root }) => root === project)) return server
  }
  return servers[0]
}

/** A busy server on a loaded machine answers slowly. */
const ANSWER_MS = 10_000

/** The server refused. The message is the server's. */
export class ServerRefusedError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'ServerRefusedError'
    this.code = code
  }
}
