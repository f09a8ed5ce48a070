import { readdir } from 'node:fs/promises'
import path from 'node:path'
import type { HarnessId } from '@chirality/core'
import type { ConversationKeeper } from '../../native-sessions/conversation-files.ts'
import { realPathOf } from '../../native-sessions/listing.ts'
import { findSessionFile, projectFolderName, projectsFolder } from './files.ts'

/** `<id>.jsonl` in the folder that belongs to the working folder, and what sub-agents wrote in `<id>/` beside it. */
export function claudeConversations(
  environment: Record<string, string>,
  harnessId: HarnessId,
): ConversationKeeper {
  return {
    harnessId,
    find: async ({ nativeSessionId, cwd }) => {
      const found = await findSessionFile(nativeSessionId, environment, cwd)
      if (found === undefined) return { folder: '', names: [] }
      const folder = path.dirname(found.path)
      return { folder, names: [path.basename(found.path), ...(await below(folder, nativeSessionId))] }
    },
    folder: async ({ cwd }) =>
      path.join(projectsFolder(environment), projectFolderName(await realPathOf(cwd))),
    isName: (name, { nativeSessionId: id }) => name === `${id}.jsonl` || name.startsWith(`${id}/`),
  }
}

async function below(folder: string, name: string): Promise<string[]> {
  const entries = await readdir(path.join(folder, name), { withFileTypes: true, recursive: true }).catch(
    () => [],
  )
  return entries.flatMap(entry =>
    // A link may lead anywhere.
    entry.isFile() ? [path.relative(folder, path.join(entry.parentPath, entry.name))] : [],
  )
}
