import type { Centre } from '@chirality/centre'
import { PROGRAM_TOOLS, type ProgramCall, wordsOf } from '@chirality/centre'
import type { ProgressNotification } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { ENDPOINTS } from '../contract/endpoints.ts'
import { bearerOf, type Keys } from '../guard/keys.ts'
import { HttpError } from '../http/http-error.ts'
import type { Route } from '../http/routes.ts'
import { route } from '../rest/route.ts'
import { MAX_CALL_BYTES } from '../rest/trpc-route.ts'

/** Sessions and loops for other programs, through the Model Context Protocol over streamable HTTP: a call is answered with a stream if
 * it asks for progress, else with JSON. */
export function mcpRoutes(centre: Centre, keys: Keys): Route[] {
  return [
    route(ENDPOINTS.mcp, async ({ request, response, readBody }) => {
      const message = await readBody({ maxBytes: MAX_CALL_BYTES })
      const scope = keys.programOf(bearerOf(request.headers.authorization))
      // It was dropped while the body was read.
      if (scope === undefined) throw new HttpError(401, 'token-wrong', 'This token is not valid any more.')
      const gone = new AbortController()
      response.once('close', () => gone.abort())
      // Imported with the first call: most servers never get one.
      const { StreamableHTTPServerTransport } = await import(
        '@modelcontextprotocol/sdk/server/streamableHttp.js'
      )
      const server = await createServer({ centre, scope, signal: gone.signal, progress: () => {} })
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: undefined,
        enableJsonResponse: !asksForProgress(message),
      })
      // The SDK's own types do not agree under `exactOptionalPropertyTypes`.
      await server.connect(transport as Parameters<typeof server.connect>[0])
      response.once('close', () => void server.close().catch(() => {}))
      await transport.handleRequest(request, response, message)
    }),
  ]
}

async function createServer(call: ProgramCall) {
  const [{ Server }, { CallToolRequestSchema, ListToolsRequestSchema }] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/index.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ])
  const server = new Server(
    { name: 'chirality', version: call.centre.version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  )
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: PROGRAM_TOOLS.map(({ name, title, description, hints, input, output }) => ({
      name,
      title,
      description,
      annotations: { title, ...hints },
      inputSchema: z.toJSONSchema(input, { io: 'input' }) as { type: 'object' },
      ...(output ? { outputSchema: z.toJSONSchema(output) as { type: 'object' } } : {}),
    })),
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification }) => {
    const tool = PROGRAM_TOOLS.find(({ name }) => name === params.name)
    if (tool === undefined) return failure(`There is no tool ${JSON.stringify(params.name)}.`)
    try {
      const result = await tool.run(params.arguments ?? {}, {
        ...call,
        signal: AbortSignal.any([signal, call.signal]),
        progress: progressOf(params._meta?.progressToken, sendNotification),
      })
      if (typeof result === 'string') return { content: [{ type: 'text' as const, text: result }] }
      const text = JSON.stringify(result, undefined, 1)
      return { content: [{ type: 'text' as const, text }], structuredContent: result as object }
    } catch (error) {
      const words = wordsOf(error)
      if (words !== undefined) return failure(words)
      call.centre.host.logFault(error)
      return failure('Chirality failed to do this. The cause is in its harness.log.')
    }
  })
  return server
}

/** Clients that ask for progress wait longer as long as they get it. */
function progressOf(
  progressToken: string | number | undefined,
  send: (notification: ProgressNotification) => Promise<void>,
): ProgramCall['progress'] {
  let progress = 0
  return message => {
    if (progressToken === undefined) return
    progress += 1
    const params = { progressToken, progress, message }
    // The program may have gone meanwhile.
    void send({ method: 'notifications/progress', params }).catch(() => {})
  }
}

function asksForProgress(message: unknown): boolean {
  const { params } = (message ?? {}) as { params?: { _meta?: { progressToken?: unknown } } | null }
  return params?._meta?.progressToken !== undefined
}

function failure(text: string) {
  return { content: [{ type: 'text' as const, text }], isError: true }
}

const INSTRUCTIONS =
  'Chirality runs coding agents in sessions. Start one with start_session, wait with await_session, read with read_session. The user sees every session and answers what it asks; you cannot.'
