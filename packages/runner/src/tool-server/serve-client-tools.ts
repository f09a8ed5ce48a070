import { HarnessError, type HarnessId, type HarnessQuery, type McpServerConfig } from '@chirality/core'

export interface ServedClientTools {
  /** The query's servers, and the one of the client tools. */
  mcpServers: Record<string, McpServerConfig>
  /** The name of the client tools' server, if there is one. */
  serverName?: string
  /** The client tools under the names that the agent's rules use. */
  toolNames: string[]
  stop(): Promise<void>
}

/** Offers a query's client tools to a harness. Loads the MCP SDK only when there are some, because loading is slow. */
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
