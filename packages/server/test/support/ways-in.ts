import type { RouteKind } from '../../src/guard/guard.ts'
import type { EveryCall } from './every-call.ts'
import { foreignHosts, foreignOrigins } from './strangers.ts'

/** One way to ask: under which name, from which page, with which token. */
export interface Way {
  host: string
  origin: string | undefined
  token: TokenName
}

export type TokenName = 'right' | 'none' | 'wrong' | 'truncated' | 'old'

export interface Target {
  port: number
  token: string
  /** Of an earlier start. */
  oldToken: string
}

/** Every name × every page × every token. */
export function everyWay({ port }: Pick<Target, 'port'>): Way[] {
  const own = ownHosts(port)
  const hosts = [...own, ...foreignHosts(port)]
  const origins = [undefined, ...own.map(host => `http://${host}`), ...foreignOrigins(port)]
  const tokens: TokenName[] = ['right', 'none', 'wrong', 'truncated', 'old']
  return hosts.flatMap(host => origins.flatMap(origin => tokens.map(token => ({ host, origin, token }))))
}

function ownHosts(port: number): string[] {
  return [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]
}

/** What must come back, `in` or how it is refused, in words of its own: nothing here asks the guard. */
export function answerTo(kind: RouteKind, { host, origin, token }: Way, port: number): string {
  if (!ownHosts(port).includes(host)) return '403 host'
  if (origin !== undefined && origin !== `http://${host}`) return '403 origin'
  // Browsers send its cookie by themselves, so the page that asks must say which it is.
  if (kind === 'device') return origin === undefined ? '403 origin' : 'in'
  // No page is a program, and no token of the walk is one of a program.
  if (kind === 'program')
    return origin === undefined ? `401 token-${token === 'none' ? 'missing' : 'wrong'}` : '403 origin'
  if (kind === 'page' || kind === 'sign-in' || token === 'right') return 'in'
  if (token !== 'none') return '401 token-wrong'
  // The page brings it in the first message: browsers cannot set headers of sockets.
  return kind === 'socket' && origin !== undefined ? 'in' : '401 token-missing'
}

export function headersOf({ host, origin, token }: Way, target: Target): Record<string, string> {
  const authorization = {
    right: `Bearer ${target.token}`,
    none: undefined,
    // The same length, the same letters, one of them in another place.
    wrong: `Bearer ${target.token.slice(1)}${target.token[0]}`,
    truncated: `Bearer ${target.token.slice(0, -1)}`,
    old: `Bearer ${target.oldToken}`,
  }[token]
  return {
    host,
    ...(origin === undefined ? {} : { origin }),
    ...(authorization === undefined ? {} : { authorization }),
  }
}

/** Headers as bytes. */
export function linesOf(headers: Record<string, string>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
}

/**
 * A request as bytes: no client would send half of these. Without a body, which the guard never reads: a connection ends where one
 * is refused, and hundreds of thousands of connections take minutes.
 */
export function bytesOf({ method, path }: EveryCall, lines: string): string {
  return `${method} ${path} HTTP/1.1\r\n${lines}${method === 'POST' ? EMPTY : ''}\r\n`
}

const EMPTY = 'content-type: application/json\r\ncontent-length: 0\r\n'
