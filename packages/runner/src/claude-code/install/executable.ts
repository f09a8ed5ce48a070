import { existsSync } from 'node:fs'
import path from 'node:path'
import { HarnessNotInstalledError } from '@chirality/core'
import {
  checkExecutable,
  findPackage,
  notCounted,
  resolveExecutable,
} from '../../process/program/resolve-executable.ts'
import { CLAUDE_CODE, type ClaudeAgentName } from '../config.ts'

export interface FindClaudeOptions {
  /** An explicit path: no other place is searched. */
  binaryPath?: string
  environment: Record<string, string>
  /** The name of the harness, and the command that installs it, for the error. Default: Claude Code. */
  agent?: ClaudeAgentName
}

/**
 * The `claude` to run: the explicit path, else PATH and the usual install folders, else the one inside the Agent SDK's
 * package.
 */
export async function findClaude(options: FindClaudeOptions): Promise<string> {
  const { harnessId, install } = options.agent ?? CLAUDE_CODE
  const named = options.binaryPath ?? options.environment[BINARY_VARIABLE]
  if (named) {
    const check = await checkExecutable(named)
    if (!check.ok) throw new HarnessNotInstalledError(harnessId, `${check.message} ${install}`)
    return path.resolve(named)
  }
  // PATH and HOME of the agent's environment: an isolated harness must not find the agent of this user.
  const { PATH = '', HOME = NOWHERE } = options.environment
  const found = await resolveExecutable('claude', [], { path: PATH, home: HOME })
  const binary = found ?? bundledClaude()
  if (!binary)
    throw new HarnessNotInstalledError(harnessId, install + notCounted(BINARY_VARIABLE, options.environment))
  return binary
}

const BINARY_VARIABLE = 'CHIRALITY_CLAUDE_BIN'
const NOWHERE = '/nonexistent'

/** Resolved from this file, so that it is found if an app installs the Agent SDK beside this package. */
export function bundledClaude(): string | undefined {
  const owner = '@anthropic-ai/claude-agent-sdk'
  const folder = findPackage(import.meta.url, owner)
  if (!folder) return undefined
  const platform = `${owner}-${process.platform}-${process.arch}`
  for (const name of [platform, `${platform}-musl`]) {
    const found = findPackage(path.join(folder, 'package.json'), name)
    const binary = found && path.join(found, 'claude')
    if (binary && existsSync(binary)) return binary
  }
  return undefined
}
