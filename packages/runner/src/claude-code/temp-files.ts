import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { HarnessId, HarnessQuery } from '@chirality/core'
import { makeTempFolder } from '../process/spool/temp-folder.ts'
import type { ClaudeArgFiles } from './arg-files.ts'
import { writeMcpConfigJson } from './mcp-config.ts'

/** What one turn hands to the agent in files, and how to get rid of them. */
export interface TempFiles {
  files: ClaudeArgFiles
  /** Safe to call twice. */
  remove(): Promise<void>
}

/** Owner-only, in a folder of their own; none is made when none is needed. */
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
