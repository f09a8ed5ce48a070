import type { BuiltInTool } from './built-in-tool.ts'
import { editTool } from './files/edit.ts'
import { globTool } from './files/glob.ts'
import { grepTool } from './files/grep.ts'
import { listTool } from './files/list.ts'
import { readTool } from './files/read.ts'
import type { Workspace } from './files/workspace.ts'
import { writeTool } from './files/write.ts'
import { bashTool, type ToolProgress } from './shell/bash.ts'
import type { Shell } from './shell/shell.ts'

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
