import { permissionLabel } from './words.ts'

/** What would be remembered: the agent's own suggestion, and the same in words for the one who decides. */
export interface RememberedRule {
  suggestion: Record<string, unknown>
  text: string
}

/**
 * The narrowest of the rules that Claude suggests with a request: one about this very call goes before one about the
 * tool, a folder, or the mode of the whole session. The one place that chooses, so that what a person is shown is what
 * the agent is told. None when all are too broad to be meant.
 */
export function narrowestRule(suggestions: readonly unknown[] | undefined): RememberedRule | undefined {
  const known = (suggestions ?? []).map(readSuggestion).filter(rule => rule !== undefined)
  const [narrowest] = known.sort((a, b) => a.breadth - b.breadth)
  return narrowest && { suggestion: narrowest.suggestion, text: narrowest.text }
}

function readSuggestion(value: unknown): (RememberedRule & { breadth: number }) | undefined {
  const suggestion = asObject(value)
  switch (suggestion.type) {
    case 'addRules':
      return suggestion.behavior === 'allow' ? readRules(suggestion) : undefined
    case 'addDirectories': {
      const folders = asTexts(suggestion.directories)
      if (folders.length === 0) return undefined
      return { suggestion, breadth: 3, text: `everything in ${folders.join(', ')}` }
    }
    case 'setMode':
      // Never by a click that was about one call.
      if (typeof suggestion.mode !== 'string' || suggestion.mode === 'bypassPermissions') return undefined
      return { suggestion, breadth: 4, text: `mode "${permissionLabel(suggestion.mode)}" for this session` }
    default:
      return undefined
  }
}

/** The narrowest suggestion as rules, each as `Tool(content)`; none where it is about a folder or the mode. */
export function suggestedRules(suggestions: readonly unknown[] | undefined): string[] {
  const suggestion = narrowestRule(suggestions)?.suggestion
  return suggestion?.type === 'addRules' ? ruleTexts(suggestion) : []
}

function readRules(suggestion: Record<string, unknown>) {
  const rules = Array.isArray(suggestion.rules) ? suggestion.rules.map(asObject) : []
  if (rules.length === 0 || rules.some(rule => typeof rule.toolName !== 'string')) return undefined
  const areNarrow = rules.every(rule => typeof rule.ruleContent === 'string')
  const breadth = areNarrow ? (rules.length === 1 ? 0 : 1) : 2
  return { suggestion, breadth, text: ruleTexts(suggestion).join(', ') }
}

function ruleTexts({ rules }: Record<string, unknown>): string[] {
  return (Array.isArray(rules) ? rules.map(asObject) : []).map(({ toolName, ruleContent }) =>
    typeof ruleContent === 'string' ? `${toolName}(${ruleContent})` : `${toolName}`,
  )
}

function asTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(part => typeof part === 'string') : []
}

function asObject(value: unknown): Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Record<string, unknown>) : {}
}
