import type { FileOps } from './file-ops.ts'
import { findProjectFolder } from './project-folder.ts'
import { isSessionId } from './session-id.ts'

/** The sessions that have a `<id>.json` in a folder of a project. */
export async function sessionsWithFiles(
  projectRoot: string,
  folder: readonly string[],
  ops: FileOps,
): Promise<string[]> {
  const path = await findProjectFolder(projectRoot, ...folder)
  if (path === undefined) return []
  return ops.readdir(path).flatMap(name => {
    const id = name.endsWith(ENDING) ? name.slice(0, -ENDING.length) : ''
    return isSessionId(id) ? [id] : []
  })
}

const ENDING = '.json'
