import { existsSync } from 'node:fs'
import path from 'node:path'
import { HarnessNotInstalledError } from '@chirality/core'
import { checkExecutable, findPackage, resolveExecutable } from '../../process/program/resolve-executable.ts'
import { CLAUDE_CODE, type ClaudeAgentName } from '../config.ts'

export interface FindClaudeOptions {
  /** Given explicitly: the only place that is looked at. */
  binaryPath?: string
  environment: Record<string, string>
  /** Who needs it, and how to get it. Default: Claude Code. */
  agent?: ClaudeAgentName
}

/** The `claude` to run: the one named, else PATH and the usual places, else the one inside the Agent SDK's package. */
export async function findClaude(options: FindClaudeOptions): Promise<string> {
  const { harnessId, install } = options.agent ?? CLAUDE_CODE
  const named = options.binaryPath ?? options.environment.CHIRALITY_CLAUDE_BIN
  if (named) {
    const check = await checkExecutable(named)
    if (!check.ok) throw new HarnessNotInstalledError(harnessId, `${check.message} ${install}`)
    return path.resolve(named)
  }
  // Those of the environment the agent gets: an isolated harness must not find this user's agent.
  const { PATH = '', HOME = NOWHERE } = options.environment
  const found = await resolveExecutable('claude', [], { path: PATH, home: HOME })
  const binary = found ?? bundledClaude()
  if (!binary) throw new HarnessNotInstalledError(harnessId, install)
  return binary
}

const NOWHERE = '/nonexistent'

/** Looked up from this file, so it is found when an app installs the Agent SDK beside this package. */
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
