import type { AlwaysRule } from '@chirality/core'
import type { RuleFile } from '../../state/server/answers.ts'

type PermissionRule = RuleFile['rules'][number]

/** A rule for people: `Bash(npm test *)` is "`npm test`, whatever follows". */
export function ruleWords({ tool, pattern }: Pick<PermissionRule, 'tool' | 'pattern'>): string {
  if (pattern === undefined) return tool === '*' ? 'Every call of every tool' : `Every use of \`${tool}\``
  if (tool !== 'Bash') return `\`${tool}\` on \`${pattern}\``
  const command = openCommand(pattern)
  return command === undefined ? `\`${pattern}\`` : `\`${command}\`, whatever follows`
}

/** Words for what "always" would allow. Only a command with an open end needs more than the server's own words. */
export function alwaysWords({ rule, words }: AlwaysRule): string {
  const pattern = /^allow Bash\((?<pattern>[\s\S]+)\)$/.exec(rule)?.groups?.pattern
  if (pattern === undefined || openCommand(pattern) === undefined) return words
  return ruleWords({ tool: 'Bash', pattern })
}

function openCommand(pattern: string): string | undefined {
  return /^(?<words>[^*]+?)(?: \*|:\*)$/.exec(pattern)?.groups?.words
}

/** Every word must be somewhere in it. */
export function matchesRule(rule: PermissionRule, text: string): boolean {
  const hay = `${rule.text} ${ruleWords(rule)}`.toLowerCase()
  return text
    .toLowerCase()
    .split(/\s+/)
    .every(word => hay.includes(word))
}
