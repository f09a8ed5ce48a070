import { type PolicyRule, parsePolicyRule } from '@chirality/personas'

/** The sources of rules, in the order of evaluation. */
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

/** One file with rules, in its current state. */
export interface PolicySource {
  kind: PolicySourceKind
  /** The path to show: relative to the project, or absolute. */
  file: string
  exists: boolean
  /** The user's own file, which the project cannot write: only there does `allow` count. */
  trusted: boolean
  rules: PolicyRule[]
  /** With any error none of its rules count, and every call asks. */
  problems: PolicyProblem[]
}

export function ruleName(source: PolicySource, rule: PolicyRule): string {
  return `${source.file}:${rule.line} ${rule.text}`
}

/** Its errors, one for each line. */
export function problemLines({ file, problems }: PolicySource): string[] {
  return problems.map(({ line, message }) => `${file}${line > 0 ? `:${line}` : ''}: ${message}`)
}

/** The rules that count and restrict. */
export function restrictingRules(sources: readonly PolicySource[]): PolicyRule[] {
  const good = sources.filter(({ problems }) => problems.length === 0)
  return good.flatMap(({ rules }) => rules.filter(({ effect }) => effect !== 'allow'))
}

/** Rules without any effect. */
export function ignoredRules({ trusted, rules }: PolicySource): PolicyRule[] {
  return trusted ? [] : rules.filter(rule => rule.effect === 'allow')
}

export interface PolicyProblem {
  line: number
  message: string
}

export interface ParsedPolicy {
  rules: PolicyRule[]
  /** With any error no rule of the file counts: one that was meant to deny may be missing. */
  problems: PolicyProblem[]
}

/** One rule for each line; empty lines and lines that begin with `#` are skipped. */
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

/** More errors than a person reads. */
const MAX_PROBLEMS = 20
