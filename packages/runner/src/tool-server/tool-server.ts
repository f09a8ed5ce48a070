import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import {
  type ClientToolDefinition,
  HarnessError,
  type HarnessId,
  type McpHttpServerConfig,
} from '@chirality/core'
import { Server as McpServer } from '@modelcontextprotocol/sdk/server/index.js'
import type { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { anySignal } from '../common/any-signal.ts'
import { type CallLimits, callTool } from './call-tool.ts'
import { createBearerToken, refuse } from './guard.ts'
import { sendRefusal } from './http-exchange.ts'
import { clientGone, McpSessions } from './mcp-sessions.ts'
import { type PreparedTools, prepareTools } from './prepare-tools.ts'
import { TOOL_SERVER_NAME } from './server-name.ts'
import { failure } from './tool-result.ts'

export interface ToolServerOptions {
  /** `127.0.0.1` (default) or `::1`; other addresses are refused. */
  host?: string | undefined
  /** Default: any free port. */
  port?: number | undefined
  /** Default true. Without it every process of this machine can call the tools. */
  requireAuth?: boolean | undefined
  /** The time limit of a handler. Default: a day, because a handler may ask the user. */
  deadlineMs?: number | undefined
  /** The limit of a result; the rest is cut. Default 1 MiB. */
  maxResultBytes?: number | undefined
  signal?: AbortSignal | undefined
  harnessId?: HarnessId | undefined
}

export interface ToolServerHandle {
  /** The name for registration. Agents see the tools as `mcp__<name>__<tool>`. */
  serverName: string
  /** Contains the token: put it into an owner-only file or a variable, never into argv. */
  mcpServer: McpHttpServerConfig
  /** Variables that the agent needs for `mcpServer`. */
  env?: Record<string, string> | undefined
  /** Aborts running handlers, closes every connection and frees the port. Can be called twice. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export async function openToolServer(
  tools: readonly ClientToolDefinition[],
  options: ToolServerOptions,
): Promise<ToolServerHandle> {
  const { host, port, limits, requireAuth, signal, harnessId } = checkOptions(options)
  const prepared = prepareTools(tools, harnessId)
  const sessions = new McpSessions(transport => createMcpServer({ tools: prepared, limits, transport }))
  const token = requireAuth ? createBearerToken() : undefined

  const server = createServer(HTTP_LIMITS)
  server.maxConnections = MAX_CONNECTIONS
  await listen(server, { host, port, harnessId })
  const url = serverUrl(server, host)
  const expected = { host: new URL(url).host, path: PATH, isToken: token?.matches }
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const refusal = refuse(request, expected)
    if (refusal) sendRefusal(response, refusal)
    else void sessions.handle(request, response, url)
  })

  let stopped: Promise<void> | undefined
  const stop = () => {
    signal?.removeEventListener('abort', stop)
    stopped ??= close(server, sessions)
    return stopped
  }
  signal?.addEventListener('abort', stop, { once: true })
  if (signal?.aborted) {
    await stop()
    throw aborted(harnessId)
  }
  return {
    serverName: TOOL_SERVER_NAME,
    mcpServer: { type: 'http', url, ...(token && { headers: { Authorization: `Bearer ${token.value}` } }) },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

const PATH = '/mcp'
const DEADLINE_MS = 24 * 60 * 60_000
const MAX_RESULT_BYTES = 1024 * 1024
/** A longer delay overflows the timer, which would then fire immediately. */
const MAX_DEADLINE_MS = 2 ** 31 - 1
const MAX_CONNECTIONS = 256
const HTTP_LIMITS = {
  // Drops a silent or slow connection early.
  headersTimeout: 5_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 2_500,
  // Longer than Codex keeps an idle connection: if we closed first, a request on its way would be lost.
  keepAliveTimeout: 120_000,
}

function checkOptions(options: ToolServerOptions) {
  const { host = '127.0.0.1', port = 0, requireAuth = true, signal, harnessId = 'tool-server' } = options
  const { deadlineMs = DEADLINE_MS, maxResultBytes = MAX_RESULT_BYTES } = options
  const invalid = (message: string) => new HarnessError(message, 'invalid_query', harnessId)
  if (host !== '127.0.0.1' && host !== '::1') {
    throw invalid(`The tool server listens on 127.0.0.1 or ::1 only, not on ${JSON.stringify(host)}.`)
  }
  if (!(deadlineMs > 0 && deadlineMs <= MAX_DEADLINE_MS)) {
    throw invalid(`deadlineMs is ${deadlineMs}: it must be above 0 and at most ${MAX_DEADLINE_MS}.`)
  }
  if (!(Number.isInteger(maxResultBytes) && maxResultBytes > 0)) {
    throw invalid(`maxResultBytes is ${maxResultBytes}: it must be a whole number above 0.`)
  }
  if (signal?.aborted) throw aborted(harnessId)
  return { host, port, requireAuth, signal, harnessId, limits: { deadlineMs, maxResultBytes } }
}

function aborted(harnessId: HarnessId): HarnessError {
  return new HarnessError('The tool server was stopped before it started.', 'aborted', harnessId)
}

async function listen(
  server: Server,
  { host, port, harnessId }: { host: string; port: number; harnessId: HarnessId },
): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port }, () => {
        server.off('error', reject)
        resolve()
      })
    })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new HarnessError(`The tool server cannot listen: ${why}`, 'unknown', harnessId, cause)
  }
}

function serverUrl(server: Server, host: string): string {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the tool server has no port')
  return `http://${host.includes(':') ? `[${host}]` : host}:${address.port}${PATH}`
}

async function close(server: Server, sessions: McpSessions): Promise<void> {
  const closed = new Promise<void>(resolve => server.close(() => resolve()))
  await sessions.close()
  server.closeAllConnections()
  await closed
}

interface McpServerParts {
  tools: PreparedTools
  limits: CallLimits
  transport: Pick<WebStandardStreamableHTTPServerTransport, 'closeSSEStream'>
}

/** The MCP server for one client. */
function createMcpServer({ tools, limits, transport }: McpServerParts): McpServer {
  const server = new McpServer(
    { name: TOOL_SERVER_NAME, version: '1' },
    { capabilities: { tools: {} }, jsonSchemaValidator: tools.validator },
  )
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.listed }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
    const tool = tools.byName.get(params.name)
    if (!tool) return failure(`There is no tool ${JSON.stringify(params.name)}.`, limits.maxResultBytes)
    // A cancelled call gets no answer, and the SDK would keep its stream open forever.
    extra.signal.addEventListener('abort', () => transport.closeSSEStream(extra.requestId), { once: true })
    const gone = clientGone.getStore()
    // The protocol lets a client disconnect and fetch the result later, but results are not stored here, so the call
    // is aborted.
    const signal = gone ? anySignal([extra.signal, gone]) : extra.signal
    return callTool(tool, params.arguments ?? {}, { ...limits, signal })
  })
  return server
}
