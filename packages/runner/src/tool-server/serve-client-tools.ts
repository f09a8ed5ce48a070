import { HarnessError, type HarnessId, type HarnessQuery, type McpServerConfig } from '@chirality/core'

export interface ServedClientTools {
  /** The query's own servers, and the one with the client tools. */
  mcpServers: Record<string, McpServerConfig>
  /** The name of that one, when there are client tools. */
  serverName?: string
  /** The client tools as the agent's rules name them. */
  toolNames: string[]
  /** Safe to call twice. */
  stop(): Promise<void>
}

/** How a harness offers a query's client tools. Loads the MCP SDK only when there are some: it takes a while. */
export async function serveClientTools(
  {
    clientTools = [],
    mcpServers = {},
    clientToolTimeoutMs: deadlineMs,
  }: Pick<HarnessQuery, 'clientTools' | 'mcpServers' | 'clientToolTimeoutMs'>,
  harnessId: HarnessId,
): Promise<ServedClientTools> {
  if (clientTools.length === 0) return { mcpServers, toolNames: [], stop: async () => {} }
  const { startToolServer, TOOL_SERVER_NAME: serverName } = await import('./index.ts')
  if (Object.hasOwn(mcpServers, serverName)) {
    const message = `mcpServers: the name ${serverName} is taken by the client tools.`
    throw new HarnessError(message, 'invalid_query', harnessId)
  }
  const { mcpServer, stop } = await startToolServer(clientTools, { harnessId, deadlineMs })
  return {
    mcpServers: { ...mcpServers, [serverName]: mcpServer },
    serverName,
    toolNames: clientTools.map(({ name }) => `mcp__${serverName}__${name}`),
    stop,
  }
}
