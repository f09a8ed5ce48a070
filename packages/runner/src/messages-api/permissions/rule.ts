import { findsCommand } from '@chirality/core'
import { globMatcher } from '../tools/files/glob-pattern.ts'

/** A tool, or some uses of it: `bash`, `bash(git *)`, `write(docs/**)`. */
export interface Rule {
  /** In lower case: personas written for other agents say `Read`. */
  tool: string
  /** The text in the brackets. */
  argument?: string
}

export interface Use {
  tool: string
  /** A command, or a path relative to the project. */
  subject?: string | undefined
  isCommand: boolean
}

export function parseRule(text: string): Rule | undefined {
  const match = /^\s*([A-Za-z0-9_-]+)\s*(?:\((.*)\))?\s*$/s.exec(text)
  const name = match?.[1]
  if (name === undefined) return undefined
  const tool = ALIASES[name.toLowerCase()] ?? (name.startsWith('mcp__') ? name : name.toLowerCase())
  const argument = match?.[2]?.trim()
  return argument === undefined || argument === '' || argument === '*' ? { tool } : { tool, argument }
}

const ALIASES: Readonly<Record<string, string>> = { ls: 'list', multiedit: 'edit' }

export function isRuleFor(rule: Rule, tool: string): boolean {
  return rule.tool === tool || rule.tool === tool.toLowerCase()
}

/** Strict: no match when in doubt. A `*` matches only a single plain command, never one that contains another. */
export function allows(rule: Rule, use: Use): boolean {
  if (!isRuleFor(rule, use.tool)) return false
  const { argument } = rule
  if (argument === undefined) return true
  if (use.subject === undefined) return false
  if (!use.isCommand) return fitsPath(argument, use.subject)
  return isPlain(use.subject) ? fitsCommand(argument, use.subject) : argument === use.subject
}

/** Broad: a match when in doubt. Checks every command inside a longer one. */
export function denies(rule: Rule, use: Use): boolean {
  if (!isRuleFor(rule, use.tool)) return false
  const { argument } = rule
  if (argument === undefined || use.subject === undefined) return true
  if (!use.isCommand) return fitsPath(argument, use.subject)
  return findsCommand(argument, use.subject)
}

/** A command without characters that have a meaning for the shell. */
function isPlain(command: string): boolean {
  return !/[;&|<>`$(){}[\]\\!#~\n\r\0]/.test(command)
}

/** `git *` and `git:*` both match `git` and anything after it; elsewhere `*` is any text. */
function fitsCommand(argument: string, command: string): boolean {
  const prefix = /^(.*?)(?::\*| \*)$/s.exec(argument)?.[1]
  const text = command.trim()
  if (prefix !== undefined && !prefix.includes('*')) return text === prefix || text.startsWith(`${prefix} `)
  return fitsWildcard(argument, text)
}

/** Matches part by part from the left, so no pattern is slow. */
function fitsWildcard(pattern: string, text: string): boolean {
  const pieces = pattern.split('*')
  const first = pieces[0] ?? ''
  const last = pieces.at(-1) ?? ''
  if (pieces.length === 1) return pattern === text
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
    return false
  let at = first.length
  const end = text.length - last.length
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at)
    if (found === -1 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}

function fitsPath(argument: string, subject: string): boolean {
  try {
    return globMatcher(argument.replace(/^\.?\//, ''))(subject)
  } catch {
    return false
  }
}
