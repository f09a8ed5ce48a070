import { access, constants, realpath } from 'node:fs/promises'
import path from 'node:path'
import { CageError } from './cage-error.ts'

export interface CagePrograms {
  bwrap: string
  socat: string
}

/** Names a folder with `bwrap` and `socat` that is looked into before PATH. */
export const CAGE_PROGRAMS_VARIABLE = 'CHIRALITY_CAGE_PROGRAMS'

/** The line that installs what a cage needs. */
export const CAGE_INSTALL = 'sudo apt-get install bubblewrap socat'

/** Rejects with a CageError that says what is missing and how to get it. */
export async function findCagePrograms(environment: Readonly<Record<string, string>>): Promise<CagePrograms> {
  if (process.platform !== 'linux')
    throw new CageError(
      'system-unsupported',
      'Chirality cages agents on Linux only, and does not start this one without its cage. Run it on Linux, or turn the cage off.',
    )
  const own = environment[CAGE_PROGRAMS_VARIABLE]
  const folders = [
    ...(own ? [own] : []),
    ...(environment.PATH ?? '').split(path.delimiter),
    '/usr/bin',
    '/bin',
  ]
  const [bwrap, socat] = await Promise.all(['bwrap', 'socat'].map(name => find(name, folders)))
  if (bwrap !== undefined && socat !== undefined) return { bwrap, socat }
  const missing = [...(bwrap === undefined ? ['bubblewrap'] : []), ...(socat === undefined ? ['socat'] : [])]
  throw new CageError(
    'program-missing',
    `The cage needs ${missing.join(' and ')}, which ${missing.length > 1 ? 'are' : 'is'} not installed, so the agent was not started. Install with: ${CAGE_INSTALL}`,
  )
}

async function find(name: string, folders: string[]): Promise<string | undefined> {
  for (const folder of folders) {
    // A relative folder in PATH is the project's, which could bring a program of that name.
    if (!path.isAbsolute(folder)) continue
    const file = path.join(folder, name)
    try {
      await access(file, constants.X_OK)
      return path.join(await realpath(folder), name)
    } catch {
      // Not in this folder.
    }
  }
  return undefined
}
