import { delimiter, isAbsolute, join } from 'node:path'
import { checkExecutable } from './resolve-executable.ts'

/** The word that starts the program in a terminal with this PATH: its name where that is found, else its whole path. */
export async function asTyped(name: string, binary: string, path = ''): Promise<string> {
  for (const folder of path.split(delimiter))
    if (isAbsolute(folder) && (await checkExecutable(join(folder, name))).ok) return name
  return /^[\w@%+=:,./-]+$/.test(binary) ? binary : `'${binary.replaceAll("'", "'\\''")}'`
}
