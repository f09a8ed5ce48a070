import { readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { HarnessNotInstalledError } from '@chirality/core'
import type { ClaudeAgentName, ClaudeCodeHarnessConfig } from '../claude-code/config.ts'
import { findPackage } from '../process/program/resolve-executable.ts'
import { AGENT_SDK_ID, AGENT_SDK_META } from './descriptor.ts'
import type { RuntimeDecision, RuntimeEvent } from './runtime/runtime-event.ts'

export const AGENT_SDK: ClaudeAgentName = {
  harnessId: AGENT_SDK_META.id,
  name: AGENT_SDK_META.name,
  install: `Install it with \`${AGENT_SDK_META.install}\`, which brings Claude Code along.`,
}

export interface AgentSdkHarnessConfig extends ClaudeCodeHarnessConfig {
  /** The folder of the SDK's package. Default: resolved from this package. */
  sdkPath?: string
  /** How long the SDK may take to request its agent. Default 60 s. */
  startLimitMs?: number
  /**
   * Called for every hook of the agent; without it no hook is registered. For an event that expects a decision, the
   * agent waits for the returned one. If this throws, the action is blocked.
   */
  onRuntimeEvent?: (event: RuntimeEvent) => RuntimeDecision | undefined | Promise<RuntimeDecision | undefined>
}

interface AgentSdk {
  version: string
  folder: string
  /** The URL for `import()`. */
  url: string
}

/** Finds the installed SDK, an optional peer dependency. */
export function findAgentSdk(sdkPath?: string): AgentSdk {
  const folder = sdkPath ?? findPackage(import.meta.url, PACKAGE)
  if (folder === undefined) throw notInstalled(`Install it with \`npm install ${PACKAGE}\`.`)
  const { version, main } = readManifest(folder)
  return { version, folder, url: pathToFileURL(path.join(folder, main)).href }
}

const PACKAGE = '@anthropic-ai/claude-agent-sdk'

function readManifest(folder: string): { version: string; main: string } {
  try {
    const manifest: unknown = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
    const { name, version, main } = manifest as Record<string, unknown>
    if (name === PACKAGE && typeof version === 'string' && typeof main === 'string') return { version, main }
  } catch {
    // Handled below, in the same way as the manifest of another package.
  }
  throw notInstalled(`${folder} does not hold it. Install it with \`npm install ${PACKAGE}\`.`)
}

function notInstalled(instructions: string): HarnessNotInstalledError {
  return new HarnessNotInstalledError(AGENT_SDK_ID, instructions)
}
