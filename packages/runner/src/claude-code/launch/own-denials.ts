import { type GuardRule, HarnessError } from '@chirality/core'
import type { AgentName } from '../../turn/turn-program.ts'
import { CLAUDE_VERSIONS } from '../descriptor.ts'
import type { ClaudeFeatures } from '../install/features.ts'

/**
 * What a guard denies, as denied tools of Claude Code itself. A release that cannot be told to block when a hook fails takes a
 * hook that is late, or whose host is gone, for one that has no objection; with these the user's deny rules hold all the same.
 * What its own rules cannot say as exactly is said more widely. Throws for a rule that they cannot say at all.
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
  // Arguments of a server's tool are nothing its rules know; a whole server is its name alone.
  if (/^mcp__[^*]+$/.test(tool)) return tool
  const server = /^(mcp__(?:(?!__)[^*])+)__\*$/.exec(tool)?.[1]
  if (server !== undefined) return server
  const name = NAMES.get(tool.toLowerCase()) ?? tool
  if (name.includes('*')) return undefined
  if (pattern === undefined || /^\**$/.test(pattern.trim())) return name
  const kind = KINDS.get(name)
  if (kind === 'command') return `${name}(${pattern.trim()})`
  // Files are denied by what is done to them; an absolute path begins with two slashes.
  if (kind === 'Read' || kind === 'Edit') return `${kind}(${pattern.trim().replace(/^\/+/, '//')})`
  return name
}

const KINDS: ReadonlyMap<string, 'command' | 'Read' | 'Edit'> = new Map([
  ['Bash', 'command'],
  ...(['Read', 'Glob', 'Grep', 'LS', 'NotebookRead'] as const).map(name => [name, 'Read'] as const),
  ...(['Edit', 'Write', 'MultiEdit', 'NotebookEdit'] as const).map(name => [name, 'Edit'] as const),
])
/** Rules know a tool by any case, and by the names of other agents. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ...[...KINDS.keys(), 'WebFetch', 'WebSearch', 'Task'].map(name => [name.toLowerCase(), name] as const),
  ['command', 'Bash'],
  ['list', 'LS'],
  ['file_change', 'Edit'],
  ['web_search', 'WebSearch'],
])
