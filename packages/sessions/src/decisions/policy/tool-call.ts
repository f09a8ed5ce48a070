import { homedir } from 'node:os'
import { resolve } from 'node:path'
import type { PermissionRequestEvent } from '@chirality/core'
import { realPath } from '../../files/real-path.ts'
import type { CallPath, PathPlace } from './match-path.ts'

/** What a rule's pattern is held against. */
export type CallArgument =
  | { kind: 'command'; command: string }
  | { kind: 'paths'; paths: CallPath[]; changes: boolean }
  | { kind: 'url'; url: string }
  | { kind: 'text'; text: string }
  /** A tool of which no one argument is known to be the one that counts: all of its input. */
  | { kind: 'input'; json: string }

/** A call that an agent asks for, in the form that rules are held against. */
export interface ToolCall {
  toolName: string
  argument: CallArgument
  /** More is asked for than the argument says, so that no `allow` with a pattern covers it. */
  asksForMore: boolean
  place: PathPlace
}

/** Looks at the disk, for where paths lead; the rest is pure. */
export function describeCall(
  request: Pick<PermissionRequestEvent, 'toolName' | 'input'>,
  projectRoot: string,
): ToolCall {
  const { toolName, input } = request
  const root = realPath(projectRoot)
  const argument = argumentOf(toolName, input, root)
  return {
    toolName,
    argument,
    asksForMore: !isPlain(argument) || (hasKnownInput(argument) && asksForMore(input, root)),
    place: { root, home: homedir(), realPath },
  }
}

/** In one line, for people. */
export function argumentText(argument: CallArgument): string {
  switch (argument.kind) {
    case 'command':
      return argument.command
    case 'paths':
      return [...new Set(argument.paths.map(({ written }) => written))].join(', ')
    case 'url':
      return argument.url
    case 'text':
      return argument.text
    case 'input':
      return argument.json
  }
}

function argumentOf(toolName: string, input: Record<string, unknown>, root: string): CallArgument {
  const tool = canonicalTool(toolName)
  const text = (key: string) => (typeof input[key] === 'string' ? (input[key] as string) : undefined)
  const whole: CallArgument = { kind: 'input', json: sortedJson(input) }
  const paths = (written: (string | undefined)[]): CallArgument => {
    const known = written.filter(path => path !== undefined)
    if (known.length === 0 || known.length < written.length) return whole
    return {
      kind: 'paths',
      paths: known.flatMap(path => callPaths(path, root)),
      changes: !READING_TOOLS.has(tool),
    }
  }
  switch (tool) {
    case 'Bash': {
      const command = text('command')
      return command === undefined ? whole : { kind: 'command', command }
    }
    case 'Read':
    case 'Write':
    case 'Edit':
    case 'MultiEdit':
      return paths([text('file_path') ?? text('path')])
    case 'NotebookEdit':
    case 'NotebookRead':
      return paths([text('notebook_path')])
    case 'LS':
    case 'Grep':
      return paths([text('path') ?? '.'])
    case 'Glob':
      // The pattern can lead elsewhere by itself.
      return paths([resolve(root, text('path') ?? '.', beforeStar(text('pattern') ?? ''))])
    case 'file_change':
      return paths(changedPaths(input.changes))
    case 'WebFetch': {
      const url = text('url')
      return url === undefined ? whole : { kind: 'url', url }
    }
    case 'WebSearch': {
      const query = text('query')
      return query === undefined ? whole : { kind: 'text', text: query }
    }
    default:
      return whole
  }
}

/** Some tools take `..` away before they follow links: where that leads elsewhere, both are meant. */
function callPaths(written: string, root: string): CallPath[] {
  const expanded = written.startsWith('~/') ? resolve(homedir(), written.slice(2)) : written
  const lexical = resolve(root, expanded)
  // No system opens it, and each of its names would be looked up.
  if (written.length > MAX_PATH_CHARS) return [{ written, lexical, real: lexical }]
  const ends = new Set([realPath(expanded, root), realPath(lexical)])
  return [...ends].map(real => ({ written, lexical, real }))
}

/** A change without a path makes the whole of it unknown. */
function changedPaths(changes: unknown): (string | undefined)[] {
  if (!Array.isArray(changes)) return [undefined]
  return changes.flatMap((change: unknown) => {
    const { path, kind, move_path } = (change ?? {}) as {
      path?: unknown
      kind?: unknown
      move_path?: unknown
    }
    const target = move_path ?? (kind as { move_path?: unknown } | null | undefined)?.move_path
    const both = target === undefined || target === null ? [path] : [path, target]
    return both.map(each => (typeof each === 'string' ? each : undefined))
  })
}

function beforeStar(pattern: string): string {
  const star = pattern.search(/[*?[{]/)
  return star === -1 ? pattern : pattern.slice(0, pattern.lastIndexOf('/', star) + 1)
}

/** Of any other tool the whole input is the argument, and nobody knows what its keys mean. */
function hasKnownInput({ kind }: CallArgument): boolean {
  return kind === 'command' || kind === 'paths'
}

/** Without the sandbox, with the network, in another folder, with lasting rights. */
function asksForMore(input: Record<string, unknown>, root: string): boolean {
  const { cwd, dangerouslyDisableSandbox, network, grantRoot } = input
  if (dangerouslyDisableSandbox !== undefined && dangerouslyDisableSandbox !== false) return true
  if ((network ?? undefined) !== undefined || (grantRoot ?? undefined) !== undefined) return true
  if ((cwd ?? undefined) === undefined) return false
  if (typeof cwd !== 'string') return true
  const real = realPath(cwd, root)
  return real !== root && !real.startsWith(`${root}/`)
}

/** Nobody knows what a tool makes of a tilde or a NUL in a path, or a disk of what cannot be seen. */
function isPlain(argument: CallArgument): boolean {
  if (argumentText(argument).length > MAX_ARGUMENT_CHARS) return false
  if (argument.kind !== 'paths') return true
  return argument.paths.every(
    ({ written }) => written.length <= MAX_PATH_CHARS && !/^~|[\p{Cc}\p{Cf}]/u.test(written),
  )
}

const MAX_ARGUMENT_CHARS = 256 * 1024
const MAX_PATH_CHARS = 4096

/** The same input is the same text, in whatever order its keys came. */
export function sortedJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, item: unknown) =>
      typeof item === 'object' && item !== null && !Array.isArray(item)
        ? Object.fromEntries(Object.entries(item).sort(([left], [right]) => (left < right ? -1 : 1)))
        : item,
    ) ?? 'null'
  )
}

/** The name that rules know a tool by: agents have different names for the same thing. */
function canonicalTool(toolName: string): string {
  return CANONICAL.get(toolName) ?? toolName
}

/** The names by which `ask` and `deny` rules reach a tool: also those of the wider sort that it belongs to. */
export function restrictedNames(toolName: string): string[] {
  const canonical = CANONICAL.get(toolName) ?? CANONICAL.get(toolName.toLowerCase()) ?? toolName
  return [toolName, canonical, ...(WIDER.get(canonical) ?? [])]
}

/** The names by which `allow` rules reach it: its own, and the common one. */
export function allowedNames(toolName: string): string[] {
  return [toolName, canonicalTool(toolName)]
}

const READING_TOOLS: ReadonlySet<string> = new Set(['Read', 'LS', 'Glob', 'Grep', 'NotebookRead'])

const CANONICAL: ReadonlyMap<string, string> = new Map([
  ['bash', 'Bash'],
  ['command', 'Bash'],
  ['read', 'Read'],
  ['write', 'Write'],
  ['edit', 'Edit'],
  ['glob', 'Glob'],
  ['grep', 'Grep'],
  ['list', 'LS'],
  ['web_search', 'WebSearch'],
])

const WIDER: ReadonlyMap<string, readonly string[]> = new Map([
  ['MultiEdit', ['Edit']],
  ['NotebookEdit', ['Edit']],
  ['file_change', ['Edit', 'Write']],
])
