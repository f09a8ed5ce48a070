import type { Dirent } from 'node:fs'
import { type BuiltInTool, objectSchema, textOf } from '../built-in-tool.ts'
import { folderOf } from './glob.ts'
import { PinnedDirectory } from './pinned-directory.ts'
import { readEntries } from './walk.ts'
import type { Workspace } from './workspace.ts'

export function listTool(workspace: Workspace): BuiltInTool {
  return {
    name: 'list',
    effect: 'read',
    description: 'Lists a folder. Folders end with /, links with @.',
    inputSchema: objectSchema({ path: { type: 'string', description: 'Default: the project folder' } }, []),
    subject: input => textOf(input.path) ?? '.',
    async execute(input) {
      const directory = await PinnedDirectory.open(await folderOf(workspace, textOf(input.path) ?? '.'))
      try {
        const entries = await readEntries(directory, MAX_LISTED + 1)
        if (entries.length === 0) return `${workspace.show(directory.path)} is empty.`
        const cut = entries.length > MAX_LISTED ? [`[Only the first ${MAX_LISTED} are shown.]`] : []
        return [...entries.slice(0, MAX_LISTED).map(nameOf), ...cut].join('\n')
      } finally {
        await directory.close()
      }
    },
  }
}

const MAX_LISTED = 1000

function nameOf(entry: Dirent): string {
  if (entry.isDirectory()) return `${entry.name}/`
  return entry.isSymbolicLink() ? `${entry.name}@` : entry.name
}
