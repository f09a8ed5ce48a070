import type { ToolKind } from '../events/tool-facts.ts'
import { asObject, asString, type JsonObject } from '../native/loose.ts'

/** What is known of a tool by its name. Names of the agents do not collide: one table serves them all. */
interface ToolShape {
  kind: ToolKind
  /** For people, where the tool's own name says less. */
  label?: string
  /** The name that rules know it by, where that is another one. */
  rule?: string
  /** Names by which `ask` and `deny` rules reach it, too. */
  widerRules?: readonly string[]
  /** The call itself asks for rights. */
  isForRights?: true
  /** Which argument rules are about. Without it: all of the input. */
  argument?: 'command' | 'file' | 'notebook' | 'folder' | 'glob' | 'changes' | 'url' | 'query'
}

const TOOLS: ReadonlyMap<string, ToolShape> = new Map<string, ToolShape>([
  // Claude Code and the Agent SDK
  ['Agent', { kind: 'task' }],
  ['AskUserQuestion', { kind: 'other', label: 'Question' }],
  ['Bash', { kind: 'execute', argument: 'command' }],
  ['BashOutput', { kind: 'execute' }],
  ['Edit', { kind: 'edit', argument: 'file' }],
  ['EnterPlanMode', { kind: 'think' }],
  ['ExitPlanMode', { kind: 'think', label: 'Plan' }],
  ['Glob', { kind: 'search', argument: 'glob' }],
  ['Grep', { kind: 'search', argument: 'folder' }],
  ['KillBash', { kind: 'execute' }],
  ['KillShell', { kind: 'execute' }],
  ['LS', { kind: 'search', argument: 'folder' }],
  ['MultiEdit', { kind: 'edit', argument: 'file', widerRules: ['Edit'] }],
  ['NotebookEdit', { kind: 'edit', argument: 'notebook', widerRules: ['Edit'] }],
  ['NotebookRead', { kind: 'read', argument: 'notebook' }],
  ['Read', { kind: 'read', argument: 'file' }],
  ['Task', { kind: 'task' }],
  ['TaskOutput', { kind: 'task' }],
  ['TaskStop', { kind: 'task' }],
  ['TodoWrite', { kind: 'think', label: 'To do' }],
  ['ToolSearch', { kind: 'search' }],
  ['WebFetch', { kind: 'fetch', argument: 'url' }],
  ['WebSearch', { kind: 'fetch', argument: 'query' }],
  ['Write', { kind: 'edit', argument: 'file' }],
  // The Messages API
  ['bash', { kind: 'execute', rule: 'Bash', argument: 'command' }],
  ['edit', { kind: 'edit', rule: 'Edit', argument: 'file' }],
  ['glob', { kind: 'search', rule: 'Glob', argument: 'glob' }],
  ['grep', { kind: 'search', rule: 'Grep', argument: 'folder' }],
  ['list', { kind: 'search', rule: 'LS', argument: 'folder' }],
  ['read', { kind: 'read', rule: 'Read', argument: 'file' }],
  ['write', { kind: 'edit', rule: 'Write', argument: 'file' }],
  // Codex
  ['close_agent', { kind: 'task' }],
  ['command', { kind: 'execute', label: 'Command', rule: 'Bash', argument: 'command' }],
  ['file_change', { kind: 'edit', label: 'Edit', widerRules: ['Edit', 'Write'], argument: 'changes' }],
  ['image_generation', { kind: 'other', label: 'Image' }],
  ['request_permissions', { kind: 'other', isForRights: true }],
  ['resume_agent', { kind: 'task' }],
  ['send_input', { kind: 'task' }],
  ['spawn_agent', { kind: 'task', label: 'Agent' }],
  ['view_image', { kind: 'read', label: 'Image' }],
  ['wait', { kind: 'task' }],
  ['web_search', { kind: 'fetch', label: 'Search', rule: 'WebSearch', argument: 'query' }],
])

/** `other` for a tool that nobody knows, as those of MCP servers are. */
export function toolKind(name: string): ToolKind {
  return TOOLS.get(name)?.kind ?? 'other'
}

/** `mcp__github__list` is `github list`. */
export function toolLabel(name: string): string {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? []
  if (server !== undefined) return `${server} ${tool}`
  const known = TOOLS.get(name)?.label
  return known ?? (/^[a-z]+$/.test(name) ? name.charAt(0).toUpperCase() + name.slice(1) : name)
}

/** The names by which `allow` rules reach a tool: its own, and the one that all agents share. */
export function allowedNames(toolName: string): string[] {
  return [toolName, TOOLS.get(toolName)?.rule ?? toolName]
}

/** The names by which `ask` and `deny` rules reach it: also in other letters, and those of the wider sort it belongs to. */
export function restrictedNames(toolName: string): string[] {
  const canonical = TOOLS.get(toolName)?.rule ?? TOOLS.get(toolName.toLowerCase())?.rule ?? toolName
  return [toolName, canonical, ...(TOOLS.get(canonical)?.widerRules ?? [])]
}

/** What a rule's pattern is held against. */
export type ToolSubject =
  | { kind: 'command'; command: string }
  /** `below` is where a pattern leads by itself, from each of the paths. */
  | { kind: 'paths'; paths: string[]; changes: boolean; below?: string }
  | { kind: 'url'; url: string }
  | { kind: 'text'; text: string }
  /** No one argument is known to be the one that counts: all of the input is. */
  | { kind: 'input' }

/** Decided by the input alone, never by facts that an event carries: what is judged has to be what runs. */
export function toolSubject(toolName: string, input: JsonObject): ToolSubject {
  const { argument, kind } = TOOLS.get(toolName) ?? {}
  const text = (key: string) => asString(input[key])
  const paths = (written: (string | undefined)[], below?: string): ToolSubject => {
    const known = written.filter(path => path !== undefined)
    // One that cannot be read makes the whole of it unknown.
    if (known.length === 0 || known.length < written.length) return { kind: 'input' }
    const changes = kind === 'edit'
    return { kind: 'paths', paths: known, changes, ...(below === undefined ? {} : { below }) }
  }
  switch (argument) {
    case 'command': {
      const command = text('command')
      return command === undefined ? { kind: 'input' } : { kind: 'command', command }
    }
    case 'file':
      return paths([text('file_path') ?? text('path')])
    case 'notebook':
      return paths([text('notebook_path')])
    case 'folder':
      return paths([text('path') ?? '.'])
    case 'glob':
      return paths([text('path') ?? '.'], beforeStar(text('pattern') ?? ''))
    case 'changes':
      return paths(changedPaths(input.changes))
    case 'url': {
      const url = text('url')
      return url === undefined ? { kind: 'input' } : { kind: 'url', url }
    }
    case 'query': {
      const query = text('query')
      return query === undefined ? { kind: 'input' } : { kind: 'text', text: query }
    }
    case undefined:
      return { kind: 'input' }
  }
}

/** The tool does nothing but ask for rights. */
export function isForRights(toolName: string): boolean {
  return TOOLS.get(toolName)?.isForRights === true
}

/** What a call asks for beyond its subject: no sandbox, the network, lasting rights, or to run in another folder (`cwd`). */
export function extraRights(input: JsonObject): { isWider: boolean; cwd?: unknown } {
  const { cwd, dangerouslyDisableSandbox, network, grantRoot } = input
  const unboxed = dangerouslyDisableSandbox !== undefined && dangerouslyDisableSandbox !== false
  const isWider = unboxed || (network ?? undefined) !== undefined || (grantRoot ?? undefined) !== undefined
  return (cwd ?? undefined) === undefined ? { isWider } : { isWider, cwd }
}

function changedPaths(changes: unknown): (string | undefined)[] {
  if (!Array.isArray(changes)) return [undefined]
  return changes.flatMap((value: unknown) => {
    const change = asObject(value) ?? {}
    const target = change.movePath ?? change.move_path ?? asObject(change.kind)?.move_path ?? undefined
    return (target === undefined ? [change.path] : [change.path, target]).map(asString)
  })
}

function beforeStar(pattern: string): string {
  const star = pattern.search(/[*?[{]/)
  return star === -1 ? pattern : pattern.slice(0, pattern.lastIndexOf('/', star) + 1)
}
