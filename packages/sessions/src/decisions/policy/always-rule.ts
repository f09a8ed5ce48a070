import path from 'node:path'
import {
  type AlwaysRule,
  type CallRisk,
  commandRisks,
  credentialRisk,
  escapeGlob,
  isCredentialFile,
  literalOf,
  narrowestSuggestion,
  type PermissionRequestEvent,
  parseGlob,
  type UIEvent,
  unwrapShell,
} from '@chirality/core'
import { readSmallFile, realFileOps } from '@chirality/disk'
import { type PolicyRule, parsePolicyRule } from '@chirality/personas'
import { ruleMatches } from './match-rule.ts'
import { type CallFolders, describeCall, type ToolCall } from './tool-call.ts'

/**
 * The rule that "always" stands for. Decided only here, for every agent: the rule that the agent suggests, if it is one
 * rule and covers this call as this package reads rules; otherwise the exact call. Undefined if no rule can express it.
 */
export function alwaysRule(
  request: Pick<PermissionRequestEvent, 'kind' | 'toolName' | 'input' | 'suggestions'>,
  folders: CallFolders,
): AlwaysRule | undefined {
  // A question has an answer, and a plan is approved once.
  if (request.kind !== 'tool') return undefined
  const call = describeCall(request, folders)
  const [suggested, ...more] = narrowestSuggestion(request.suggestions)?.rules ?? []
  const candidates = [more.length === 0 ? suggested : undefined, exactCall(call)]
  for (const candidate of candidates) {
    const rule = candidate === undefined ? undefined : parsePolicyRule(`allow ${candidate}`, 1).rule
    if (rule !== undefined && ruleMatches(rule, call)) return { rule: rule.text, words: wordsOf(rule, call) }
  }
  return undefined
}

/**
 * A request as it is recorded and answered: with its risks, or with the rule of "always". A dangerous call has no such
 * rule: a person checks it each time. Values that an agent put into these fields are ignored.
 */
export function withHostFacts<E extends UIEvent>(event: E, folders: CallFolders): E {
  if (event.type !== 'permission:request') return event
  const { always: _rule, risks: _risks, ...request } = event
  const risks = callRisks(event, folders)
  if (risks.length > 0) return { ...request, risks } as E
  const always = alwaysRule(event, folders)
  return (always === undefined ? request : { ...request, always }) as E
}

/**
 * The path as a rule names it. In a worktree it is the path below the project: the worktree is gone one day, and the file
 * is the same in the next one. A name without a folder would match in every folder, so it stays absolute.
 */
function lasting(real: string, { root, project }: ToolCall['place']): string {
  if (root === project || !real.startsWith(`${root}/`)) return real
  const below = real.slice(root.length + 1)
  return below.includes('/') ? below : real
}

/** As narrow as possible: the same argument, or the whole input of a tool whose argument is not known. */
function exactCall({ toolName, argument, place }: ToolCall): string | undefined {
  switch (argument.kind) {
    case 'command':
      return `${toolName}(${escapeGlob(unwrapShell(argument.command))})`
    case 'paths': {
      const [only, ...more] = argument.paths
      // A rule has one path.
      return only === undefined || more.length > 0
        ? undefined
        : `${toolName}(${escapeGlob(lasting(only.real, place))})`
    }
    case 'url': {
      if (!URL.canParse(argument.url)) return undefined
      // Without the fragment, which no server receives.
      const { origin, pathname, search } = new URL(argument.url)
      return `${toolName}(${escapeGlob(`${origin}${pathname}${search}`)})`
    }
    case 'text':
      return `${toolName}(${escapeGlob(argument.text)})`
    case 'input':
      return `${toolName}(${escapeGlob(argument.json)})`
  }
}

function wordsOf({ pattern }: PolicyRule, { argument }: ToolCall): string {
  if (pattern === undefined) return 'every call of this tool, with any input'
  const isExact = !pattern.endsWith(':*') && literalOf(parseGlob(pattern)) !== undefined
  switch (argument.kind) {
    case 'command':
      return isExact ? 'this exact command' : 'every command that fits this pattern'
    case 'paths':
      return isExact && !pattern.endsWith('/')
        ? 'this tool on this file'
        : 'this tool on every file that fits this pattern'
    case 'url':
      if (!isExact) return 'every address that fits this pattern'
      return /^(?:domain:|[^/]*$)/.test(pattern) ? 'every address of this host' : 'this exact address'
    case 'text':
    case 'input':
      return 'this tool with exactly this input'
  }
}

/** The risks of a call, decided in one place for every agent; empty for most calls. */
export function callRisks(
  request: Pick<PermissionRequestEvent, 'kind' | 'toolName' | 'input'>,
  folders: CallFolders,
): CallRisk[] {
  if (request.kind !== 'tool') return []
  const { argument, place } = describeCall(request, folders)
  switch (argument.kind) {
    case 'command':
      return commandRisks(argument.command, {
        isOutside: written => isOutside(written, place),
        knownHosts: remoteHosts(place.root),
      })
    case 'paths':
      return argument.paths
        .filter(({ written, real }) => isCredentialFile(written) || isCredentialFile(real))
        .slice(0, 1)
        .map(({ written }) => credentialRisk(written))
    case 'url':
    case 'text':
    case 'input':
      return []
  }
}

/** A path with a variable in it can lead anywhere. */
function isOutside(written: string, { root, home, realPath }: ToolCall['place']): boolean {
  if (/[$`]/.test(written)) return true
  const expanded = written === '~' || written.startsWith('~/') ? path.join(home, written.slice(1)) : written
  const real = realPath(path.resolve(root, expanded.slice(0, MAX_PATH_CHARS)))
  return real !== root && !real.startsWith(`${root}/`)
}

const MAX_PATH_CHARS = 4096

/** Hosts of the repository's remotes, read from its configuration, so that a request starts no git process. */
function remoteHosts(root: string): ReadonlySet<string> {
  let config: string
  try {
    const read = readSmallFile(realFileOps, path.join(root, '.git', 'config'), MAX_CONFIG_BYTES)
    config = read?.toString('utf8') ?? ''
  } catch {
    return new Set()
  }
  const urls = [...config.matchAll(/^\s*(?:push)?url\s*=\s*(\S+)/gim)].map(([, url = '']) => url)
  return new Set(
    urls.flatMap(url => {
      const host =
        /^[a-z][a-z0-9+.-]*:\/\/(?:[^/@\s]*@)?([\w.-]+)/i.exec(url) ?? /^(?:[\w.-]+@)?([\w.-]+):/.exec(url)
      return host?.[1] === undefined ? [] : [host[1].toLowerCase()]
    }),
  )
}

const MAX_CONFIG_BYTES = 64 * 1024
