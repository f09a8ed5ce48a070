import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { extraRights, type PermissionRequestEvent, toolSubject } from '@chirality/core'
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
  const subject = toolSubject(toolName, input)
  switch (subject.kind) {
    case 'paths': {
      const { paths, below, changes } = subject
      // A pattern can lead elsewhere by itself.
      const written = below === undefined ? paths : paths.map(path => resolve(root, path, below))
      return { kind: 'paths', paths: written.flatMap(path => callPaths(path, root)), changes }
    }
    case 'input':
      return { kind: 'input', json: sortedJson(input) }
    default:
      return subject
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

/** Of any other tool the whole input is the argument, and nobody knows what its keys mean. */
function hasKnownInput({ kind }: CallArgument): boolean {
  return kind === 'command' || kind === 'paths'
}

function asksForMore(input: Record<string, unknown>, root: string): boolean {
  const { isWider, cwd } = extraRights(input)
  if (isWider || cwd === undefined) return isWider
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
