import { type BuiltInTool, objectSchema, textOf } from '../built-in-tool.ts'
import { structuredPatch } from './patch.ts'
import { readText, writeText } from './text-file.ts'
import type { Place, Workspace } from './workspace.ts'

export function writeTool(workspace: Workspace): BuiltInTool {
  return {
    name: 'write',
    effect: 'edit',
    description: 'Writes a text file, also over one that is there. Makes the folders on the way.',
    inputSchema: objectSchema(
      {
        file_path: { type: 'string', description: 'Absolute, or relative to the project folder' },
        content: { type: 'string' },
      },
      ['file_path', 'content'],
    ),
    subject: input => textOf(input.file_path),
    async execute(input) {
      const place = await workspace.locateForWriting(input.file_path)
      const content = String(input.content)
      const before = place.exists ? await oldText(workspace, place) : ''
      await writeText(workspace, place, content)
      const type = place.exists ? 'update' : 'create'
      const detail = {
        type,
        filePath: place.real,
        content,
        structuredPatch: structuredPatch(before, content),
      }
      const lines = content === '' ? 0 : content.split('\n').length - (content.endsWith('\n') ? 1 : 0)
      return { content: `${place.exists ? 'Replaced' : 'Created'} ${place.shown} (${lines} lines).`, detail }
    },
  }
}

/** Something that is no text may be replaced, there is just nothing to compare with. */
async function oldText(workspace: Workspace, place: Place): Promise<string> {
  return readText(workspace, place).catch(() => '')
}
