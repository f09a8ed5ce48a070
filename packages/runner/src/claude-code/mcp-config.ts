import { writeFile } from 'node:fs/promises'
import type { McpServerConfig } from '@chirality/core'

/** Writes the file that `--mcp-config` reads. It may hold tokens: owner-only, and never over an existing file. */
export async function writeMcpConfigJson(
  servers: Record<string, McpServerConfig>,
  filePath: string,
): Promise<void> {
  const mcpServers = Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [name, entry(server)]),
  )
  await writeFile(filePath, JSON.stringify({ mcpServers }, null, 2), { mode: 0o600, flag: 'wx' })
}

function entry(server: McpServerConfig): Record<string, unknown> {
  if (server.type === 'http') {
    return { type: 'http', url: server.url, ...(server.headers ? { headers: server.headers } : {}) }
  }
  return {
    command: server.command,
    ...(server.args ? { args: server.args } : {}),
    ...(server.env ? { env: server.env } : {}),
    ...(server.cwd ? { cwd: server.cwd } : {}),
  }
}
