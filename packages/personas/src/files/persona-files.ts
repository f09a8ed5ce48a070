import { readdirSync } from 'node:fs'
import { AGENTS_FOLDER, isSafeId, type PersonaProblem, personaFileName } from '../persona.ts'
import { PersonaError } from '../persona-error.ts'
import { errnoOf, messageOf } from './errno.ts'
import { insideProject } from './inside-project.ts'

/** The names in `agents/` that are, or were meant to be, personas. Sorted; empty when there is no such folder. */
export function personaFileNames(realRoot: string): string[] {
  const folder = insideProject(realRoot, AGENTS_FOLDER)
  if (folder === null) return []
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT') return []
    if (code === 'ENOTDIR') {
      throw new PersonaError('wrong-kind', AGENTS_FOLDER, {
        message: 'is a file. Personas are files in a folder of that name.',
      })
    }
    throw new PersonaError('unreadable', AGENTS_FOLDER, { message: `cannot be read: ${messageOf(error)}` })
  }
  return names.filter(name => PERSONA_FILE.test(name)).sort()
}

/** What stands between `AGENT_` and `.md`. */
export function idInFileName(name: string): string {
  return name.slice('AGENT_'.length, -'.md'.length)
}

/** Why a file that `personaFileNames` found is not a persona by its name. */
export function nameProblem(name: string): PersonaProblem | undefined {
  const id = idInFileName(name)
  if (!isSafeId(id)) {
    return {
      message: 'has a name with more than letters, digits, "_" and "-", or over 64 of them. Rename it.',
    }
  }
  const right = personaFileName(id)
  return name === right ? undefined : { message: `must be named ${right}, in this case. Rename it.` }
}

/** In any case, so that a file a person takes for a persona does not just stay away from the list. */
const PERSONA_FILE = /^agent_.*\.md$/is
