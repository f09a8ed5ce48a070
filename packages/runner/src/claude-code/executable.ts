import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { HarnessNotInstalledError } from '@chirality/core'
import { findPackage } from '../process/find-package.ts'
import { checkExecutable, resolveExecutable } from '../process/resolve-executable.ts'
import { runCommand } from '../process/run-command.ts'
import { HARNESS_ID } from './config.ts'

export const INSTALL_INSTRUCTIONS =
  'Install it with `npm install -g @anthropic-ai/claude-code`, or set CHIRALITY_CLAUDE_BIN to the binary.'

export interface FindClaudeOptions {
  /** Given explicitly: the only place that is looked at. */
  binaryPath?: string
  environment: Record<string, string>
}

/** The `claude` to run: the one named, else PATH and the usual places, else the one inside the Agent SDK's package. */
export async function findClaude(options: FindClaudeOptions): Promise<string> {
  const named = options.binaryPath ?? options.environment.CHIRALITY_CLAUDE_BIN
  if (named) {
    const check = await checkExecutable(named)
    if (!check.ok) throw new HarnessNotInstalledError(HARNESS_ID, `${check.message} ${INSTALL_INSTRUCTIONS}`)
    return path.resolve(named)
  }
  // Those of the environment the agent gets: an isolated harness must not find this user's agent.
  const { PATH = '', HOME = NOWHERE } = options.environment
  const found = await resolveExecutable('claude', [], { path: PATH, home: HOME })
  const binary = found ?? bundledClaude()
  if (!binary) throw new HarnessNotInstalledError(HARNESS_ID, INSTALL_INSTRUCTIONS)
  return binary
}

const NOWHERE = '/nonexistent'

/**
 * `2.1.325`, or undefined when the binary does not say, or not before the signal. Cached until the file changes: asking costs
 * a process.
 */
export async function claudeVersion(
  binary: string,
  env: Record<string, string>,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const info = await stat(binary)
  const key = `${binary}:${info.mtimeMs}:${info.size}`
  const known = versions.get(key)
  if (known) return known
  const { stdout } = await runCommand(binary, ['--version'], { env, signal })
  const version = VERSION.exec(stdout.trim())?.[1]
  if (version) versions.set(key, version)
  return version
}

const versions = new Map<string, string>()

/** With the name, because every other program has a version too. */
const VERSION = /^(\d+\.\d+\.\d+\S*) \(Claude Code\)/

/** The first release known to take `--system-prompt-snapshot`; 2.1.197 exits with "unknown option". */
const SNAPSHOT_SINCE = [2, 1, 325] as const

export function knowsSystemPromptSnapshot(version: string | undefined): boolean {
  return isSince(version, SNAPSHOT_SINCE)
}

export function isSince(version: string | undefined, first: readonly number[]): boolean {
  const parts = (version ?? '').split('.').map(part => Number.parseInt(part, 10))
  for (const [i, since] of first.entries()) {
    const part = parts[i] ?? 0
    if (part !== since) return part > since
  }
  return true
}

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
