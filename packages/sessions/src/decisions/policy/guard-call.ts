import { relative, resolve } from 'node:path'
import { type GuardVerdict, isProtectedPath, writtenFiles } from '@chirality/core'
import { judgeCall } from './judge-call.ts'
import type { PathPlace } from './match-path.ts'
import { type PolicySource, restrictingRules } from './policy-source.ts'
import type { ToolCall } from './tool-call.ts'

export interface GuardOptions {
  /** Files that decide what agents may do, or that run by themselves, are not changed unasked. */
  protects: boolean
}

/** What has to happen before a call, whatever the agent's own mode and rules say. */
export function guardCall(
  sources: readonly PolicySource[],
  call: ToolCall,
  { protects }: GuardOptions,
): GuardVerdict {
  const { effect, rule, problem } = judgeCall(sources, { kind: 'tool' }, call)
  if (effect === 'deny') return { effect, reason: `Denied by a rule: ${rule}`, ...(rule ? { rule } : {}) }
  if (effect === 'allow') return { effect: 'pass' }
  if (rule !== undefined) return { effect: 'ask', reason: `A rule asks about it: ${rule}` }
  // A rule that was meant for it may be missing. What an agent only reads, or notes for itself, it may go on with.
  if (problem !== undefined && isWeighty(call)) return { effect: 'ask', reason: problem }
  const file = protects ? protectedFile(call) : undefined
  if (file === undefined) return { effect: 'pass' }
  return { effect: 'ask', reason: `${file} decides what agents may do, or runs by itself later.` }
}

export function hasRestrictions(sources: readonly PolicySource[]): boolean {
  return sources.some(({ problems }) => problems.length > 0) || restrictingRules(sources).length > 0
}

function isWeighty({ toolName, argument }: ToolCall): boolean {
  if (argument.kind === 'input') return toolName.startsWith('mcp__')
  return argument.kind !== 'paths' || argument.changes
}

/** In the project: an agent's plans and notes lie in its own folder, and elsewhere it asks by itself. */
function protectedFile({ argument, place }: ToolCall): string | undefined {
  switch (argument.kind) {
    case 'paths':
      if (!argument.changes) return undefined
      return firstProtected(
        argument.paths.flatMap(({ lexical, real }) => [lexical, real]),
        place,
      )
    case 'command': {
      // As far as it can be recognised: a shell has more ways to write than can be listed.
      const { files, folders } = writtenFiles(argument.command)
      const places = folders.map(folder => resolve(place.root, folder))
      const written = [place.root, ...places].flatMap(from => files.map(file => resolve(from, file)))
      return firstProtected(
        written.flatMap(path => [path, place.realPath(path)]),
        place,
      )
    }
    default:
      return undefined
  }
}

function firstProtected(paths: readonly string[], { root }: PathPlace): string | undefined {
  for (const path of paths) {
    const inProject = relative(root, path)
    if (!inProject.startsWith('..') && isProtectedPath(inProject)) return inProject
  }
  return undefined
}
