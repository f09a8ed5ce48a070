import { existsSync } from 'node:fs'
import path from 'node:path'
import { type SpentElsewhere, userDataFolder } from '@chirality/sessions'

/** What other machines spent on a project, as this machine last heard. Nothing of a fleet is loaded without one. */
export async function spentElsewhere(project: string): Promise<() => SpentElsewhere[]> {
  const home = userDataFolder()
  if (!existsSync(path.join(home, 'fleet'))) return () => []
  const { spendingInFile } = await import('./spending-in-file.ts')
  return spendingInFile(home, project)
}
