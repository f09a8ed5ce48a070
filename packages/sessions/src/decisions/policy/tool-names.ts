/** The name that rules know a tool by: agents have different names for the same thing. */
export function canonicalTool(toolName: string): string {
  return CANONICAL.get(toolName) ?? toolName
}

/** The names by which `ask` and `deny` rules reach a tool: also those of the wider sort that it belongs to. */
export function restrictedNames(toolName: string): string[] {
  const canonical = CANONICAL.get(toolName) ?? CANONICAL.get(toolName.toLowerCase()) ?? toolName
  return [toolName, canonical, ...(WIDER.get(canonical) ?? [])]
}

/** The names by which `allow` rules reach it: its own, and the common one. */
export function allowedNames(toolName: string): string[] {
  return [toolName, canonicalTool(toolName)]
}

export const READING_TOOLS: ReadonlySet<string> = new Set(['Read', 'LS', 'Glob', 'Grep', 'NotebookRead'])

const CANONICAL: ReadonlyMap<string, string> = new Map([
  ['bash', 'Bash'],
  ['command', 'Bash'],
  ['read', 'Read'],
  ['write', 'Write'],
  ['edit', 'Edit'],
  ['glob', 'Glob'],
  ['grep', 'Grep'],
  ['list', 'LS'],
  ['web_search', 'WebSearch'],
])

const WIDER: ReadonlyMap<string, readonly string[]> = new Map([
  ['MultiEdit', ['Edit']],
  ['NotebookEdit', ['Edit']],
  ['file_change', ['Edit', 'Write']],
])
