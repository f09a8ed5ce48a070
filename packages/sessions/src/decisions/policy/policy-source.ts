import { type PolicyRule, parsePolicyRule } from '@chirality/personas'

/** Where rules come from, in the order in which they are asked. */
export type PolicySourceKind =
  /** The user's, for one persona of the project. */
  | 'user-persona'
  /** The user's, for the project. */
  | 'user-project'
  /** The user's, for every project. */
  | 'user-global'
  /** `policy` in the frontmatter of the persona. */
  | 'persona'
  /** `.chirality/policy` in the project. */
  | 'project'

/** One file with rules, as it is now. */
export interface PolicySource {
  kind: PolicySourceKind
  /** For people: within the project, or absolute. */
  file: string
  exists: boolean
  /** The user's own, out of reach of the project: only then `allow` counts. */
  trusted: boolean
  rules: PolicyRule[]
  /** With any of them none of its rules counts, and everything asks. */
  problems: PolicyProblem[]
}

export function ruleName(source: PolicySource, rule: PolicyRule): string {
  return `${source.file}:${rule.line} ${rule.text}`
}

/** What is wrong with it, a line each. */
export function problemLines({ file, problems }: PolicySource): string[] {
  return problems.map(({ line, message }) => `${file}${line > 0 ? `:${line}` : ''}: ${message}`)
}

/** Those of them that count and take something away. */
export function restrictingRules(sources: readonly PolicySource[]): PolicyRule[] {
  const good = sources.filter(({ problems }) => problems.length === 0)
  return good.flatMap(({ rules }) => rules.filter(({ effect }) => effect !== 'allow'))
}

/** Rules that are there and do nothing. */
export function ignoredRules({ trusted, rules }: PolicySource): PolicyRule[] {
  return trusted ? [] : rules.filter(rule => rule.effect === 'allow')
}

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
