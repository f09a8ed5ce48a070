import type { PolicyRule } from '@chirality/personas'
import type { PolicyProblem } from './parse-policy.ts'

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
