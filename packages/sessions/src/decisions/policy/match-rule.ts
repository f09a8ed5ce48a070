import {
  allowsCommand,
  anywhere,
  findsCommand,
  type Glob,
  globMatches,
  literalOf,
  parseGlob,
} from '@chirality/core'
import type { PolicyRule } from '@chirality/personas'
import { allowsPath, findsPath } from './match-path.ts'
import { allowsUrl, findsUrl } from './match-url.ts'
import { argumentText, type ToolCall } from './tool-call.ts'
import { allowedNames, restrictedNames } from './tool-names.ts'

/** `allow` rules are read as narrowly as possible, `ask` and `deny` as widely. */
export function ruleMatches(rule: PolicyRule, call: ToolCall): boolean {
  return rule.effect === 'allow' ? allows(rule, call) : finds(rule, call)
}

function allows({ tool, pattern }: PolicyRule, call: ToolCall): boolean {
  const glob = toolGlob(tool)
  if (!allowedNames(call.toolName).some(name => globMatches(glob, name))) return false
  if (pattern === undefined) return true
  if (call.asksForMore) return false
  const { argument, place } = call
  switch (argument.kind) {
    case 'command':
      return allowsCommand(pattern, argument.command)
    case 'paths':
      return argument.paths.every(path => allowsPath(pattern, path, { ...place, changes: argument.changes }))
    case 'url':
      return allowsUrl(pattern, argument.url)
    case 'text':
    case 'input':
      // What a star would span here nobody can foresee.
      return literalOf(parseGlob(pattern)) === argumentText(argument)
  }
}

function finds({ tool, pattern }: PolicyRule, call: ToolCall): boolean {
  const glob = toolGlob(tool)
  if (!restrictedNames(call.toolName).some(name => globMatches(glob, name, { ignoreCase: true })))
    return false
  if (pattern === undefined || pattern.trim() === '*' || pattern.trim() === '**') return true
  const { argument, place } = call
  switch (argument.kind) {
    case 'command':
      // `deny *(.env)` is meant for commands that name the file, too.
      return findsCommand(pattern, argument.command) || (tool === '*' && isAnywhere(pattern, call))
    case 'paths':
      return argument.paths.some(path => findsPath(pattern, path, place))
    case 'url':
      return findsUrl(pattern, argument.url)
    case 'text':
    case 'input':
      return isAnywhere(pattern, call)
  }
}

function isAnywhere(pattern: string, { argument }: ToolCall): boolean {
  return globMatches(anywhere(parseGlob(pattern.trim())), argumentText(argument), { ignoreCase: true })
}

function toolGlob(tool: string): Glob {
  return { parts: tool.split('*') }
}
