import { type BuiltInTool, objectSchema, ToolError, textOf } from '../built-in-tool.ts'
import { readText, structuredPatch, writeText } from './text-file.ts'
import type { FilePlace, Workspace } from './workspace.ts'

export function editTool(workspace: Workspace): BuiltInTool {
  return {
    name: 'edit',
    effect: 'edit',
    description:
      'Replaces a piece of a text file by another. The old text must be there exactly once, unless replace_all is set.',
    inputSchema: objectSchema(
      {
        file_path: { type: 'string', description: 'Absolute, or relative to the project folder' },
        old_string: {
          type: 'string',
          minLength: 1,
          description: 'Exactly as in the file, without line numbers',
        },
        new_string: { type: 'string' },
        replace_all: { type: 'boolean' },
      },
      ['file_path', 'old_string', 'new_string'],
    ),
    subject: input => textOf(input.file_path),
    async execute(input) {
      const place = await workspace.locateForWriting(input.file_path)
      if (!place.exists) throw new ToolError(`${place.shown} does not exist. Use write for a new file.`)
      const oldString = String(input.old_string)
      const newString = String(input.new_string)
      if (oldString === newString) throw new ToolError('old_string and new_string are the same.')
      const before = await readText(workspace, place)
      const found = before.split(oldString).length - 1
      if (found === 0) throw new ToolError(notFound(before, oldString, place.shown))
      if (found > 1 && input.replace_all !== true) {
        throw new ToolError(
          `old_string is ${found} times in ${place.shown}. Give more of the text around it, or set replace_all.`,
        )
      }
      // `replace` would interpret `$&` in the new text.
      const after = before.split(oldString).join(newString)
      await writeText(workspace, place, after)
      const detail = {
        filePath: place.real,
        oldString,
        newString,
        structuredPatch: structuredPatch(before, after),
      }
      return {
        content: `Changed ${found === 1 ? 'one place' : `${found} places`} in ${place.shown}.`,
        detail,
      }
    },
  }
}

function notFound(text: string, oldString: string, shown: string): string {
  const hint =
    oldString.includes('\n') && !oldString.includes('\r') && text.includes('\r\n')
      ? ' Its lines end with CR LF: replace one line at a time.'
      : ''
  return `old_string is not in ${shown}. Read it again and copy exactly.${hint}`
}

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

/** The old content for the diff; empty for a binary file, which may still be replaced. */
async function oldText(workspace: Workspace, place: FilePlace): Promise<string> {
  return readText(workspace, place).catch(() => '')
}
