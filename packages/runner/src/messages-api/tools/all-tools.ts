import { bashTool, type ToolProgress } from './bash.ts'
import type { BuiltInTool } from './built-in-tool.ts'
import { editTool } from './edit.ts'
import { globTool } from './glob.ts'
import { grepTool } from './grep.ts'
import { listTool } from './list.ts'
import { readTool } from './read.ts'
import type { Shell } from './shell.ts'
import type { Workspace } from './workspace.ts'
import { writeTool } from './write.ts'

export interface BuiltInToolParts {
  workspace: Workspace
  shell: Shell
  onProgress?: ToolProgress
}

export function builtInTools({ workspace, shell, onProgress }: BuiltInToolParts): BuiltInTool[] {
  return [
    readTool(workspace),
    writeTool(workspace),
    editTool(workspace),
    bashTool(shell, onProgress),
    globTool(workspace),
    grepTool(workspace),
    listTool(workspace),
  ]
}
