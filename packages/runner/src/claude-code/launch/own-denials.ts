import { type GuardRule, HarnessError } from '@chirality/core'
import type { AgentName } from '../../turn/turn-program.ts'
import { CLAUDE_VERSIONS } from '../descriptor.ts'
import type { ClaudeFeatures } from '../install/features.ts'

/**
 * The guard's deny rules as denied tools of Claude Code itself. A release without the option to block on a failing hook
 * lets a call pass if the hook is late or its host has exited; with these rules the user's deny rules still hold. A
 * rule that cannot be expressed exactly is expressed more widely. Throws for a rule that cannot be expressed at all.
 */
export function ownDenials(
  rules: readonly GuardRule[] | undefined,
  { version }: ClaudeFeatures,
  agent: AgentName,
): string[] {
  return (rules ?? []).flatMap(rule => {
    if (rule.effect !== 'deny') return []
    const denied = ownDenial(rule)
    if (denied !== undefined) return [denied]
    const text = rule.pattern === undefined ? rule.tool : `${rule.tool}(${rule.pattern})`
    const which = version === undefined ? 'This Claude Code' : `Claude Code ${version}`
    const message = `${which} runs a tool when the hook that guards it fails, and cannot be told "deny ${text}" as a rule of its own. ${CLAUDE_VERSIONS.update}`
    throw new HarnessError(message, 'unsupported', agent.harnessId)
  })
}

function ownDenial({ tool, pattern }: GuardRule): string | undefined {
  // Claude Code's rules cannot name the arguments of a server's tool; a whole server is denied by its name alone.
  if (/^mcp__[^*]+$/.test(tool)) return tool
  const server = /^(mcp__(?:(?!__)[^*])+)__\*$/.exec(tool)?.[1]
  if (server !== undefined) return server
  const name = NAMES.get(tool.toLowerCase()) ?? tool
  if (name.includes('*')) return undefined
  if (pattern === undefined || /^\**$/.test(pattern.trim())) return name
  const kind = KINDS.get(name)
  if (kind === 'command') return `${name}(${pattern.trim()})`
  // A file rule is denied as Read or Edit, whichever the tool does; an absolute path begins with two slashes.
  if (kind === 'Read' || kind === 'Edit') return `${kind}(${pattern.trim().replace(/^\/+/, '//')})`
  return name
}

const KINDS: ReadonlyMap<string, 'command' | 'Read' | 'Edit'> = new Map([
  ['Bash', 'command'],
  ...(['Read', 'Glob', 'Grep', 'LS', 'NotebookRead'] as const).map(name => [name, 'Read'] as const),
  ...(['Edit', 'Write', 'MultiEdit', 'NotebookEdit'] as const).map(name => [name, 'Edit'] as const),
])
/** Rules match a tool name in any case, and by the names that other agents use. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ...[...KINDS.keys(), 'WebFetch', 'WebSearch', 'Task'].map(name => [name.toLowerCase(), name] as const),
  ['command', 'Bash'],
  ['list', 'LS'],
  ['file_change', 'Edit'],
  ['web_search', 'WebSearch'],
])
