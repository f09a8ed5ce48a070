/** One of the rules that Claude suggests with a request. */
export interface Suggestion {
  /** The agent's own form, which it expects back. */
  suggestion: Record<string, unknown>
  /** The calls that it allows, each as `Tool(content)`; empty if it is about a folder or the mode. */
  rules: string[]
}

/**
 * The narrowest of the rules that Claude suggests with a request: one about this exact call comes before one about the
 * tool, a folder, or the mode of the whole session. Undefined if all are too broad.
 */
export function narrowestSuggestion(suggestions: readonly unknown[] | undefined): Suggestion | undefined {
  const known = (suggestions ?? []).map(readSuggestion).filter(each => each !== undefined)
  const [narrowest] = known.sort((a, b) => a.breadth - b.breadth)
  return narrowest && { suggestion: narrowest.suggestion, rules: narrowest.rules }
}

function readSuggestion(value: unknown): (Suggestion & { breadth: number }) | undefined {
  const suggestion = asObject(value)
  switch (suggestion.type) {
    case 'addRules':
      return suggestion.behavior === 'allow' ? readRules(suggestion) : undefined
    case 'addDirectories': {
      const { directories } = suggestion
      if (!Array.isArray(directories) || !directories.some(each => typeof each === 'string')) return undefined
      return { suggestion, breadth: 3, rules: [] }
    }
    case 'setMode':
      // A click about one call must never allow this.
      if (typeof suggestion.mode !== 'string' || suggestion.mode === 'bypassPermissions') return undefined
      return { suggestion, breadth: 4, rules: [] }
    default:
      return undefined
  }
}

function readRules(suggestion: Record<string, unknown>) {
  const rules = Array.isArray(suggestion.rules) ? suggestion.rules.map(asObject) : []
  if (rules.length === 0 || rules.some(rule => typeof rule.toolName !== 'string')) return undefined
  const areNarrow = rules.every(rule => typeof rule.ruleContent === 'string')
  const breadth = areNarrow ? (rules.length === 1 ? 0 : 1) : 2
  return { suggestion, breadth, rules: rules.map(ruleText) }
}

function ruleText({ toolName, ruleContent }: Record<string, unknown>): string {
  return typeof ruleContent === 'string' ? `${toolName}(${ruleContent})` : `${toolName}`
}

function asObject(value: unknown): Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Record<string, unknown>) : {}
}
