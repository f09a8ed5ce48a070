import { didYouMean } from '@chirality/core'

/** One line of a policy: `deny Bash(rm *)`. */
export interface PolicyRule {
  effect: PolicyEffect
  /** A tool's name; `*` in it stands for anything. */
  tool: string
  /** The text between the parentheses. Absent: every call of the tool. */
  pattern?: string
  /** Line of the file, from 1. */
  line: number
  /** The rule as it was written. */
  text: string
}

export type PolicyEffect = 'allow' | 'ask' | 'deny'

export type ParsedRule = { rule: PolicyRule; problem?: undefined } | { rule?: undefined; problem: string }

/** Reads one rule. The problem says what would be right. */
export function parsePolicyRule(written: string, line: number): ParsedRule {
  const text = written.trim()
  const shown = quote(text)
  if (text.length > MAX_RULE_CHARS) return { problem: `a rule has at most ${MAX_RULE_CHARS} characters.` }
  if (CONTROL_CHARACTERS.test(text)) return { problem: `${shown} holds control characters. Remove them.` }
  const [word = '', ...rest] = text.split(/\s+/, 2)
  const effect = EFFECTS.find(name => name === word)
  if (effect === undefined)
    return {
      problem: `a rule begins with allow, ask or deny, not ${quote(word)}.${nearest(word, EFFECTS)}`,
    }
  if (rest.length === 0) return { problem: `${effect} what? Name a tool, as in "${effect} Bash(git *)".` }
  const { tool, pattern, after } = split(text.slice(effect.length).trim())
  if (after !== '')
    return { problem: `${shown} goes on after its end: ${quote(after)}. Comments have a line of their own.` }
  if (!TOOL.test(tool)) return { problem: `${quote(tool)} is not a tool, such as Bash, mcp__files__* or *.` }
  if (pattern?.trim() === '')
    return { problem: `${shown} has an empty pattern. Without parentheses it means every call.` }
  return { rule: { effect, tool, ...(pattern === undefined ? {} : { pattern }), line, text } }
}

const EFFECTS: readonly PolicyEffect[] = ['allow', 'ask', 'deny']
const TOOL = /^(?:\*|[A-Za-z_][\w.:*/-]*)$/
const CONTROL_CHARACTERS = /\p{Cc}/u
const MAX_RULE_CHARS = 4096

/** The pattern reaches to the last parenthesis, because commands have parentheses too. */
function split(call: string): { tool: string; pattern?: string; after: string } {
  const open = call.indexOf('(')
  const close = call.lastIndexOf(')')
  if (open === -1) {
    const [tool = '', ...after] = call.split(/\s+/)
    return { tool, after: after.join(' ') }
  }
  const tool = call.slice(0, open)
  if (close < open) return { tool, after: call.slice(open) }
  return { tool, pattern: call.slice(open + 1, close), after: call.slice(close + 1) }
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}

/** ` Did you mean "x"?` for the choice nearest to what was written, or nothing. */
export function nearest(written: string, choices: readonly string[]): string {
  const near = didYouMean(written, choices)
  return near === undefined ? '' : ` Did you mean "${near}"?`
}
