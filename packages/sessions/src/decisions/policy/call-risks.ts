import { readFileSync } from 'node:fs'
import path from 'node:path'
import {
  type CallRisk,
  commandRisks,
  credentialRisk,
  isCredentialFile,
  type PermissionRequestEvent,
} from '@chirality/core'
import { describeCall, type ToolCall } from './tool-call.ts'

/** The risks of a call, decided in one place for every agent; empty for most calls. */
export function callRisks(
  request: Pick<PermissionRequestEvent, 'kind' | 'toolName' | 'input'>,
  projectRoot: string,
): CallRisk[] {
  if (request.kind !== 'tool') return []
  const { argument, place } = describeCall(request, projectRoot)
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
    config = readFileSync(path.join(root, '.git', 'config'), 'utf8').slice(0, MAX_CONFIG_CHARS)
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

const MAX_CONFIG_CHARS = 64 * 1024
