import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { HarnessId, HarnessQuery, McpServerConfig } from '@chirality/core'
import { makeTempFolder } from '../../process/spool/temp-folder.ts'
import type { ClaudeArgFiles } from '../config.ts'

/** The temporary files that one turn passes to the agent. */
export interface TempFiles {
  files: ClaudeArgFiles
  /** Can be called twice. */
  remove(): Promise<void>
}

/** The files are readable by the owner only, in a folder of their own; no folder is created if there are no files. */
export async function writeTempFiles(
  query: Pick<HarnessQuery, 'systemPrompt' | 'appendSystemPrompt' | 'mcpServers'>,
  environment: Record<string, string>,
  harnessId: HarnessId,
): Promise<TempFiles> {
  const { systemPrompt, appendSystemPrompt, mcpServers = {} } = query
  const hasServers = Object.keys(mcpServers).length > 0
  if (!systemPrompt && !appendSystemPrompt && !hasServers) return { files: {}, remove: async () => {} }

  const folder = await makeTempFolder(environment, harnessId)
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const files: ClaudeArgFiles = {}
    if (systemPrompt) files.systemPrompt = await put(folder, 'system.txt', systemPrompt)
    if (appendSystemPrompt)
      files.appendSystemPrompt = await put(folder, 'append-system.txt', appendSystemPrompt)
    if (hasServers) {
      files.mcpConfig = path.join(folder, 'mcp.json')
      await writeMcpConfigJson(mcpServers, files.mcpConfig)
    }
    return { files, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function put(folder: string, name: string, text: string): Promise<string> {
  const file = path.join(folder, name)
  await writeFile(file, text, { mode: 0o600, flag: 'wx' })
  return file
}

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
