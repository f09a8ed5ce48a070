import type { BuiltInTool } from './built-in-tool.ts'
import { readTool } from './read.ts'
import type { Workspace } from './workspace.ts'

export function builtInTools(workspace: Workspace): BuiltInTool[] {
  return [readTool(workspace)]
}
