import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { type CallLimits, callTool } from './call-tool.ts'
import { clientGone } from './mcp-sessions.ts'
import type { PreparedTools } from './prepare-tools.ts'
import { TOOL_SERVER_NAME } from './server-name.ts'
import { failure } from './tool-result.ts'

export interface McpServerParts {
  tools: PreparedTools
  limits: CallLimits
  transport: Pick<WebStandardStreamableHTTPServerTransport, 'closeSSEStream'>
}

/** The protocol side of the tools, for one client. */
export function createMcpServer({ tools, limits, transport }: McpServerParts): Server {
  const server = new Server(
    { name: TOOL_SERVER_NAME, version: '1' },
    { capabilities: { tools: {} }, jsonSchemaValidator: tools.validator },
  )
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.listed }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
    const tool = tools.byName.get(params.name)
    if (!tool) return failure(`There is no tool ${JSON.stringify(params.name)}.`, limits.maxResultBytes)
    // A cancelled call gets no answer, and the SDK would keep its stream open for ever.
    extra.signal.addEventListener('abort', () => transport.closeSSEStream(extra.requestId), { once: true })
    const gone = clientGone.getStore()
    // The protocol lets a client leave and fetch the result later; without a store for results it would be lost anyway.
    const signal = gone ? AbortSignal.any([extra.signal, gone]) : extra.signal
    return callTool(tool, params.arguments ?? {}, { ...limits, signal })
  })
  return server
}
