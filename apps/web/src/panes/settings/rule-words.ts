import type { PermissionRule } from '../../state/server/server-api.ts'

/** A rule for people: `Bash(npm test *)` is "`npm test`, whatever follows". */
export function ruleWords({ tool, pattern }: PermissionRule): string {
  if (pattern === undefined) return tool === '*' ? 'Every call of every tool' : `Every use of \`${tool}\``
  if (tool !== 'Bash') return `\`${tool}\` on \`${pattern}\``
  const command = /^(?<words>[^*]+?)(?: \*|:\*)$/.exec(pattern)?.groups?.words
  return command === undefined ? `\`${pattern}\`` : `\`${command}\`, whatever follows`
}

/** Every word must be somewhere in it. */
export function matchesRule(rule: PermissionRule, text: string): boolean {
  const hay = `${rule.text} ${ruleWords(rule)}`.toLowerCase()
  return text
    .toLowerCase()
    .split(/\s+/)
    .every(word => hay.includes(word))
}
