import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { extraRights, type PermissionRequestEvent, toolSubject } from '@chirality/core'
import { realPath } from '../../files/real-path.ts'
import type { CallPath, PathPlace } from './match-path.ts'

/** The value that a rule's pattern is matched against. */
export type CallArgument =
  | { kind: 'command'; command: string }
  | { kind: 'paths'; paths: CallPath[]; changes: boolean }
  | { kind: 'url'; url: string }
  | { kind: 'text'; text: string }
  /** A tool without a known main argument: its whole input. */
  | { kind: 'input'; json: string }

/** A tool call in the form that rules are matched against. */
export interface ToolCall {
  toolName: string
  argument: CallArgument
  /** The call asks for more than the argument shows, so no `allow` with a pattern covers it. */
  asksForMore: boolean
  place: PathPlace
}

/** Where a call is made. */
export interface CallFolders {
  projectRoot: string
  /** The folder that the agent works in, if it is not the project's. */
  workFolder?: string | undefined
}

/** Reads the disk to resolve paths; the rest is pure. */
export function describeCall(
  request: Pick<PermissionRequestEvent, 'toolName' | 'input'>,
  { projectRoot, workFolder = projectRoot }: CallFolders,
): ToolCall {
  const { toolName, input } = request
  const root = realPath(workFolder)
  const argument = argumentOf(toolName, input, root)
  return {
    toolName,
    argument,
    asksForMore: !isPlain(argument) || (hasKnownInput(argument) && asksForMore(input, root)),
    place: { root, project: realPath(projectRoot), home: homedir(), realPath },
  }
}

/** One line to show. */
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
      // A glob pattern can itself lead elsewhere.
      const written = below === undefined ? paths : paths.map(path => resolve(root, path, below))
      return { kind: 'paths', paths: written.flatMap(path => callPaths(path, root)), changes }
    }
    case 'input':
      return { kind: 'input', json: sortedJson(input) }
    default:
      return subject
  }
}

/** Some tools remove `..` before they follow links: if that leads elsewhere, both paths count. */
function callPaths(written: string, root: string): CallPath[] {
  const expanded = written.startsWith('~/') ? resolve(homedir(), written.slice(2)) : written
  const lexical = resolve(root, expanded)
  // No system opens such a path, and each of its names would be looked up.
  if (written.length > MAX_PATH_CHARS) return [{ written, lexical, real: lexical }]
  const ends = new Set([realPath(expanded, root), realPath(lexical)])
  return [...ends].map(real => ({ written, lexical, real }))
}

/** For any other tool the whole input is the argument, because the meaning of its keys is not known. */
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

/** It is not known how a tool treats a tilde or a NUL in a path, or a file system invisible characters. */
function isPlain(argument: CallArgument): boolean {
  if (argumentText(argument).length > MAX_ARGUMENT_CHARS) return false
  if (argument.kind !== 'paths') return true
  return argument.paths.every(
    ({ written }) => written.length <= MAX_PATH_CHARS && !/^~|[\p{Cc}\p{Cf}]/u.test(written),
  )
}

const MAX_ARGUMENT_CHARS = 256 * 1024
const MAX_PATH_CHARS = 4096

/** The same input gives the same text, in whatever order its keys are. */
export function sortedJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, item: unknown) =>
      typeof item === 'object' && item !== null && !Array.isArray(item)
        ? Object.fromEntries(Object.entries(item).sort(([left], [right]) => (left < right ? -1 : 1)))
        : item,
    ) ?? 'null'
  )
}
