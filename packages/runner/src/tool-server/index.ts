import type { ClientToolDefinition } from '@chirality/core'
import { withMcpSdk } from './mcp-sdk.ts'
import type { ToolServerHandle, ToolServerOptions } from './tool-server.ts'

export { TOOL_SERVER_NAME } from './server-name.ts'
export type { ToolServerHandle, ToolServerOptions }

/** Offers `tools` to an agent through MCP on loopback, for one invocation. Throws before anything is started. */
export async function startToolServer(
  tools: readonly ClientToolDefinition[],
  options: ToolServerOptions = {},
): Promise<ToolServerHandle> {
  const { openToolServer } = await withMcpSdk(
    () => import('./tool-server.ts'),
    options.harnessId ?? 'tool-server',
  )
  return openToolServer(tools, options)
}
