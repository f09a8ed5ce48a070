export interface CommandSandbox {
  /** Its name, with the program that it needs. */
  name: string
  /** Why commands in this folder fail in it, with the remedy. */
  problem?: string
}

/** Files of a folder that decide what runs. */
export interface ProjectFiles {
  files: ProjectFile[]
  /** Why they cannot be trusted as a whole: one cannot be read, or there are too many. */
  problem?: string
}

export interface ProjectFile {
  /** Relative to the folder: `.mcp.json`, `../.claude/settings.json`. */
  path: string
  content: Uint8Array
}
