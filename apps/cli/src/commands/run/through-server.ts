import type { Envelope } from '@chirality/core'
import { readServerFile, type ServerFile } from '@chirality/server'
import { userDataFolder } from '@chirality/sessions'

export interface ServerTurnRequest {
  projectRoot: string
  /** Of a session that is there; without it `newSession` says what to make. */
  sessionId?: string
  newSession?: Record<string, unknown>
  message: string
  /** As the API takes them: `permissionMode`, `model`, `tools` … */
  options?: Record<string, unknown>
}

/** A turn that another process runs, as if it were ours. */
export interface ServerTurn {
  readonly sessionId: string
  /** To the last word of the turn. */
  readonly envelopes: AsyncIterable<Envelope>
  interrupt(): Promise<void>
  kill(): Promise<void>
}

/** The server refused. The message is its own. */
export class ServerRefusedError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'ServerRefusedError'
    this.code = code
  }
}

/**
 * Runs a turn in the server that has the project: its address is in `ProjectLockedError`. Undefined when it is no server of
 * this user that takes turns, as with another `chirality run`.
 */
export async function startThroughServer(
  address: string,
  request: ServerTurnRequest,
  home = userDataFolder(),
): Promise<ServerTurn | undefined> {
  const server = await readServerFile(home, address)
  if (server === undefined) return undefined
  // The user named the folder on the command line, as they would in the dashboard.
  await call(server, '/trpc/projects.register', { path: request.projectRoot })
  const sessionId = request.sessionId ?? (await createSession(server, request))
  const { message, options } = request
  const response = await call(server, '/api/harness/turn?as=envelopes', { sessionId, message, options })
  return {
    sessionId,
    envelopes: envelopesOf(response),
    interrupt: async () => void (await call(server, '/api/harness/interrupt', { sessionId })),
    kill: async () => void (await call(server, '/trpc/turns.kill', { sessionId })),
  }
}

async function createSession(server: ServerFile, request: ServerTurnRequest): Promise<string> {
  const body = { mode: 'direct', ...request.newSession, projectRoot: request.projectRoot }
  const response = await call(server, '/api/harness/session/create', body)
  const { session } = (await response.json()) as { session: { id: string } }
  return session.id
}

async function call(server: ServerFile, path: string, body: unknown): Promise<Response> {
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch((error: unknown) => {
    throw unreachable(server, error instanceof Error ? (error.cause ?? error) : error)
  })
  if (response.ok) return response
  const { error } = (await response.json().catch(() => ({}))) as {
    error?: { code: string | number; message: string; data?: { reason?: string } }
  }
  // Another program may have the port by now.
  if (error === undefined) throw unreachable(server, `it said ${response.status}`)
  throw new ServerRefusedError(error.data?.reason ?? String(error.code), error.message)
}

function unreachable({ url, pid }: ServerFile, why: unknown): ServerRefusedError {
  const reason = why instanceof Error ? why.message : String(why)
  const message = `The server at ${url} (process ${pid}) has this project, and does not answer: ${reason}. Try again, or stop it.`
  return new ServerRefusedError('unreachable', message)
}

async function* envelopesOf(response: Response): AsyncGenerator<Envelope> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines)
      if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as Envelope
  }
}
