import type { HarnessInstallStatus } from '@chirality/core'
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
export function installHelp(harnessId: string, status: HarnessInstallStatus): InstallHelp | undefined {
  if (!status.installed) {
    const command = installCommand(harnessId)
    return command ? { command } : textOf(status)
  }
  if (status.authenticated) return undefined
  const command = loginCommand(harnessId)
  return command ? { command, ...textOf(status) } : textOf(status)
}

function textOf({ authInstructions }: HarnessInstallStatus): InstallHelp | undefined {
  return authInstructions ? { text: authInstructions } : undefined
}
