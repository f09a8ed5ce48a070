import { type PolicyRule, parsePolicyRule } from '@chirality/personas'

export interface PolicyProblem {
  line: number
  message: string
}

export interface ParsedPolicy {
  rules: PolicyRule[]
  /** With any of them no rule of the file counts: one that was meant to deny may be missing. */
  problems: PolicyProblem[]
}

/** A rule a line; empty lines, and lines that begin with `#`, are nothing. */
export function parsePolicy(text: string): ParsedPolicy {
  const parsed: ParsedPolicy = { rules: [], problems: [] }
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)
  for (const [index, written] of lines.entries()) {
    const trimmed = written.trim()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    const { rule, problem } = parsePolicyRule(trimmed, index + 1)
    if (rule !== undefined) parsed.rules.push(rule)
    else if (parsed.problems.length < MAX_PROBLEMS)
      parsed.problems.push({ line: index + 1, message: problem })
  }
  return parsed
}

/** Nobody reads more. */
const MAX_PROBLEMS = 20
