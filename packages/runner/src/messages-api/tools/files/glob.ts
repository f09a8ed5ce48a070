import type { Dirent } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type BuiltInTool, objectSchema, ToolError, textOf } from '../built-in-tool.ts'
import { globMatcher } from './glob-pattern.ts'
import { PinnedDirectory } from './pinned-directory.ts'
import { readEntries, walk, walkLimits } from './walk.ts'
import type { Workspace } from './workspace.ts'

export function globTool(workspace: Workspace): BuiltInTool {
  return {
    name: 'glob',
    effect: 'read',
    description: `Finds files by a pattern such as src/**/*.ts. Leaves out .git and node_modules. Gives at most ${MAX_FOUND} paths.`,
    inputSchema: objectSchema(
      {
        pattern: { type: 'string', minLength: 1 },
        path: { type: 'string', description: 'The folder to look in; default the project folder' },
      },
      ['pattern'],
    ),
    subject: input => textOf(input.path) ?? '.',
    async execute(input, { signal }) {
      const matches = globMatcher(String(input.pattern))
      const start = await folderOf(workspace, textOf(input.path) ?? '.')
      const limits = walkLimits()
      const found: string[] = []
      for await (const { prefix, entries } of walk(start, { signal, limits })) {
        for (const entry of entries) {
          if (entry.isDirectory() || !matches(prefix + entry.name)) continue
          const shown = workspace.show(`${start}/${prefix}${entry.name}`)
          if (workspace.isHidden(shown)) continue
          found.push(shown)
          limits.isReached ||= found.length >= MAX_FOUND
        }
        if (found.length >= MAX_FOUND) break
      }
      const cut = limits.isReached ? ['[There may be more. Use a narrower pattern or path.]'] : []
      if (found.length === 0) return ['No file fits.', ...cut].join('\n')
      return {
        content: [...found.slice(0, MAX_FOUND), ...cut].join('\n'),
        detail: { numFiles: found.length },
      }
    },
  }
}

const MAX_FOUND = 1000

export async function folderOf(workspace: Workspace, given: string): Promise<string> {
  const place = await workspace.locate(given)
  const info = await stat(place.real).catch(() => null)
  if (!info?.isDirectory()) throw new ToolError(`${place.shown} is not a folder.`)
  return place.real
}

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
