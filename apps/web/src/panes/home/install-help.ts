import type { HarnessInstallStatus, HarnessMeta } from '@chirality/core'

export interface InstallHelp {
  /** To be typed into a terminal as it is. */
  command?: string
  text?: string
}

/** Missing installation or login, as a command where there is one, else in the harness's own words. */
export function installHelp(
  { install, login, versions }: Pick<HarnessMeta, 'install' | 'login' | 'versions'>,
  status: HarnessInstallStatus,
): InstallHelp | undefined {
  if (status.support === 'too-old') return { command: commandIn(versions?.update) }
  if (status.installed && status.authenticated) return undefined
  const { authInstructions: instructions } = status
  const command = commandIn(instructions) ?? (status.installed ? login?.command : install)
  if (!command) return instructions ? { text: instructions } : undefined
  const text = status.installed ? besides(instructions) : ''
  return text === '' ? { command } : { command, text }
}

/** Instructions without the command, which has a box of its own: "Or set AGENT_KEY." */
function besides(instructions = ''): string {
  const rest = instructions
    .replace(/^Run `[^`]+`/, '')
    .replace(/^,? and /, 'Then ')
    .replace(/^[,.\s]+/, '')
  return rest.slice(0, 1).toUpperCase() + rest.slice(1)
}

/** The harness knows where its binary is: what it says goes before what is usual. */
function commandIn(instructions: string | undefined): string | undefined {
  return instructions?.match(/`([^`]+)`/)?.[1]
}
