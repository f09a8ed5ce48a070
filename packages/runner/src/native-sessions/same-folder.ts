import { realpath } from 'node:fs/promises'
import path from 'node:path'

/** The names a folder may have in an agent's files: as it was given, and where its links lead. */
export async function sameFolder(folder: string): Promise<string[]> {
  const given = path.resolve(folder)
  return [...new Set([given, await realPath(given)])]
}

export async function realPath(folder: string): Promise<string> {
  return realpath(folder).catch(() => path.resolve(folder))
}
