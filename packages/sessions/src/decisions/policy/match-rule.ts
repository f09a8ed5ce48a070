import { domainToASCII } from 'node:url'
import {
  allowedNames,
  allowsCommand,
  anywhere,
  findsCommand,
  type Glob,
  globMatches,
  literalOf,
  parseGlob,
  restrictedNames,
} from '@chirality/core'
import type { PolicyRule } from '@chirality/personas'
import { allowsPath, findsPath } from './match-path.ts'
import { argumentText, type ToolCall } from './tool-call.ts'

/** `allow` rules are matched as narrowly as possible, `ask` and `deny` as widely. */
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
      // It is not predictable what a star would match here.
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
      // `deny *(.env)` also applies to commands that name the file.
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

/**
 * Whether an `allow` pattern covers an address. `example.org` and `domain:example.org` cover only this host, over
 * https; `https://*.example.org/docs/*` covers more. A star in any other place of a host matches nothing.
 */
export function allowsUrl(pattern: string, address: string): boolean {
  const url = parseUrl(address)
  if (url === undefined || url.username !== '' || url.password !== '') return false
  const { scheme, host, path } = splitPattern(pattern)
  if (/\*/.test(host.replace(/^\*(?:\.|$)/, ''))) return false
  if (!globMatches(parseGlob(scheme ?? 'https'), url.protocol.slice(0, -1))) return false
  const wanted = host.includes('*') ? host.toLowerCase() : asciiHost(host)
  return (
    globMatches(parseGlob(wanted), url.host) &&
    (path === undefined || globMatches(parseGlob(path), `${url.pathname}${url.search}`))
  )
}

/** Whether an `ask` or `deny` pattern matches an address: a host includes its subdomains, and every scheme. */
export function findsUrl(pattern: string, address: string): boolean {
  const url = parseUrl(address)
  const anyPlace = anywhere(parseGlob(pattern.trim()))
  if (globMatches(anyPlace, address, IGNORE_CASE)) return true
  if (url === undefined) return false
  const { scheme, host, path } = splitPattern(pattern)
  const name = url.hostname.replace(/\.$/, '')
  const wanted = host.includes('*') ? host : asciiHost(host).replace(/:\d+$/, '')
  const isHost = [wanted, `*.${wanted}`].some(each => globMatches(parseGlob(each), name, IGNORE_CASE))
  if (
    !isHost ||
    (scheme !== undefined && !globMatches(parseGlob(scheme), url.protocol.slice(0, -1), IGNORE_CASE))
  )
    return false
  return path === undefined || globMatches(parseGlob(path), `${url.pathname}${url.search}`, IGNORE_CASE)
}

const IGNORE_CASE = { ignoreCase: true }

function splitPattern(pattern: string): { scheme?: string; host: string; path?: string } {
  const trimmed = pattern.trim().replace(/^domain:/, '')
  const [scheme, rest] = trimmed.includes('://') ? trimmed.split('://', 2) : [undefined, trimmed]
  const slash = rest?.indexOf('/') ?? -1
  const host = slash === -1 ? (rest ?? '') : (rest ?? '').slice(0, slash)
  const path = slash === -1 ? undefined : (rest ?? '').slice(slash)
  return { host, ...(scheme === undefined ? {} : { scheme }), ...(path === undefined ? {} : { path }) }
}

function parseUrl(address: string): URL | undefined {
  try {
    return new URL(address)
  } catch {
    return undefined
  }
}

function asciiHost(host: string): string {
  const [name = '', port] = host.split(':', 2)
  const ascii = domainToASCII(name) || name.toLowerCase()
  return port === undefined ? ascii : `${ascii}:${port}`
}
