import type { HarnessInstallStatus, HarnessMeta } from '@chirality/core'

export interface InstallHelp {
  /** To be typed into a terminal as it is. */
  command?: string
  text?: string
}

/** What is missing, as a command where there is one, else in the harness's own words. */
export function installHelp(
  { install, login, versions }: Pick<HarnessMeta, 'install' | 'login' | 'versions'>,
  status: HarnessInstallStatus,
): InstallHelp | undefined {
  if (status.support === 'too-old') return { command: commandIn(versions?.update) }
  if (status.installed && status.authenticated) return undefined
  const command = commandIn(status.authInstructions) ?? (status.installed ? login?.command : install)
  if (!command) return textOf(status)
  return status.installed ? { command, ...textOf(status) } : { command }
}

/** The harness knows where its binary is: what it says goes before what is usual. */
function commandIn(instructions: string | undefined): string | undefined {
  return instructions?.match(/`([^`]+)`/)?.[1]
}

function textOf({ authInstructions }: HarnessInstallStatus): InstallHelp | undefined {
  return authInstructions ? { text: authInstructions } : undefined
}
