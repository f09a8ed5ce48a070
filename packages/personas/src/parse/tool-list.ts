/** Splits at commas, but not inside parentheses: those belong to the pattern. */
export function splitToolList(text: string): string[] {
  const tools: string[] = []
  let depth = 0
  let start = 0
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '(') depth += 1
    else if (char === ')') depth -= 1
    else if (char === ',' && depth <= 0) {
      tools.push(text.slice(start, i))
      start = i + 1
    }
  }
  tools.push(text.slice(start))
  return tools.map(tool => tool.trim()).filter(tool => tool !== '')
}

/** The problem of one tool of a list, in words that end the sentence "tools: …". */
export function toolProblem(tool: string): string | undefined {
  const name = toolName(tool)
  if (!isBalanced(tool)) return `${quote(tool)} has unequal parentheses. Put quotes around the whole pattern.`
  if (name === '*') return `"*" stands for every tool. Name the tools.`
  if (!TOOL.test(tool)) {
    const hint = /\s/.test(name) ? ' Separate tools by commas.' : ''
    return `${quote(tool)} is not a tool, such as Read or Bash(git *).${hint}`
  }
  const known = KNOWN_TOOLS.find(other => other.toLowerCase() === name.toLowerCase())
  // Agents compare names exactly, and say nothing when a denied name matches no tool.
  if (known && known !== name) return `${quote(name)} is written ${quote(known)}.`
  return undefined
}

/** `Bash` of `Bash(git *)`. */
export function toolName(tool: string): string {
  const open = tool.indexOf('(')
  return open === -1 ? tool : tool.slice(0, open)
}

export function isPattern(tool: string): boolean {
  return tool.includes('(')
}

const TOOL = /^[A-Za-z_][\w.:*/-]*(\([^\p{Cc}]*\))?$/u

const KNOWN_TOOLS = [
  'Agent',
  'AskUserQuestion',
  'Bash',
  'BashOutput',
  'Edit',
  'ExitPlanMode',
  'Glob',
  'Grep',
  'KillShell',
  'LS',
  'MultiEdit',
  'NotebookEdit',
  'NotebookRead',
  'Read',
  'Skill',
  'SlashCommand',
  'Task',
  'TodoWrite',
  'WebFetch',
  'WebSearch',
  'Write',
] as const

function isBalanced(tool: string): boolean {
  let depth = 0
  for (const char of tool) {
    if (char === '(') depth += 1
    if (char === ')') depth -= 1
    if (depth < 0) return false
  }
  return depth === 0
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
