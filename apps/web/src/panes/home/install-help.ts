import type { HarnessInstallStatus, HarnessMeta } from '@chirality/core'
import { own } from '../../ui/own.ts'

export interface InstallHelp {
  /** To be typed into a terminal as it is. */
  command?: string
  text?: string
}

const INSTALL: Readonly<Record<string, string>> = {
  'claude-code': 'npm install -g @anthropic-ai/claude-code',
  codex: 'npm install -g @openai/codex',
  'agent-sdk': 'npm install @anthropic-ai/claude-agent-sdk',
}

const LOGIN: Readonly<Record<string, string>> = {
  'claude-code': 'claude auth login',
  codex: 'codex login',
}

export function installCommand(harnessId: string): string | undefined {
  return own(INSTALL, harnessId)
}

export function loginCommand(harnessId: string): string | undefined {
  return own(LOGIN, harnessId)
}

/** What is missing, as a command where there is one, else in the harness's own words. */
export function installHelp(
  { id: harnessId, versions }: Pick<HarnessMeta, 'id' | 'versions'>,
  status: HarnessInstallStatus,
): InstallHelp | undefined {
  if (status.support === 'too-old') return { command: commandIn(versions?.update) }
  if (status.installed && status.authenticated) return undefined
  const command = commandIn(status.authInstructions) ?? usualCommand(harnessId, status)
  if (!command) return textOf(status)
  return status.installed ? { command, ...textOf(status) } : { command }
}

/** The harness knows where its binary is: what it says goes before what is usual. */
function commandIn(instructions: string | undefined): string | undefined {
  return instructions?.match(/`([^`]+)`/)?.[1]
}

function usualCommand(harnessId: string, { installed }: HarnessInstallStatus): string | undefined {
  return installed ? loginCommand(harnessId) : installCommand(harnessId)
}

function textOf({ authInstructions }: HarnessInstallStatus): InstallHelp | undefined {
  return authInstructions ? { text: authInstructions } : undefined
}
