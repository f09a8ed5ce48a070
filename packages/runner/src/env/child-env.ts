import type { HarnessEnvironment } from '@chirality/core'
import { HARNESSES } from '../harnesses.ts'
import { MARKER_VARIABLE } from '../process/system/leftovers.ts'
import { ALLOW_VARIABLE, BASE_NAMES, BASE_PREFIXES, PROXY_NAMES } from './allowed-names.ts'
import { isSecretLike } from './secrets.ts'

export interface ChildEnvOptions {
  source: Record<string, string>
  /** The variables of the agent that is started. Those of other agents are never passed. Default: none. */
  own?: HarnessEnvironment | undefined
  /** Added without filtering: the caller gives both name and value. */
  extra?: Record<string, string> | undefined
  /** Additional exact names to pass from `source`, besides those in its CHIRALITY_ALLOW_ENV. */
  allow?: string[] | undefined
}

export interface ChildEnv {
  env: Record<string, string>
  /** The names of `source` that were not passed, sorted. */
  dropped: string[]
}

/** The environment of an agent: the allow-list, minus the deny patterns, plus the names that were requested. */
export function buildChildEnv(options: ChildEnvOptions): ChildEnv {
  const { source, own = NO_AGENT, extra = {}, allow = [] } = options
  const passed = new Map<string, string>()
  const named = new Set([
    ...ownNames(own, source),
    ...[...allow, ...namesIn(source[ALLOW_VARIABLE])].filter(name => !isReserved(name, own)),
  ])
  for (const [name, value] of Object.entries(source)) {
    const ownValue = passedValue(name, value, named)
    if (ownValue !== undefined) passed.set(name, ownValue)
  }
  for (const [name, value] of Object.entries(extra)) {
    if (isUsable(name, value) && !isOwn(name)) passed.set(name, value)
  }
  const dropped = Object.keys(source).filter(name => !passed.has(name))
  return { env: Object.fromEntries(passed), dropped: dropped.sort() }
}

function passedValue(name: string, value: string, named: Set<string>): string | undefined {
  if (!isUsable(name, value)) return undefined
  if (name === MARKER_VARIABLE) return value
  if (isOwn(name)) return undefined
  if (named.has(name)) return value
  if (PROXY_NAMES.includes(name)) return withoutUserInfo(value)
  const isBase = BASE_NAMES.includes(name) || BASE_PREFIXES.some(prefix => name.startsWith(prefix))
  return isBase && !isSecretLike(name, value) ? value : undefined
}

const NO_AGENT: HarnessEnvironment = { names: [] }

function ownNames({ names, switched = [] }: HarnessEnvironment, source: Record<string, string>): string[] {
  const on = switched.filter(({ switchName }) => isOn(source[switchName]))
  return [...names, ...on.flatMap(({ names: more }) => more)]
}

function namesIn(list = ''): string[] {
  return list.split(/[\s,]+/).filter(name => name !== '')
}

/** Not even the user's own list may give one agent's key to another, or load code into every process. */
function isReserved(name: string, own: HarnessEnvironment): boolean {
  if (/^(LD_|DYLD_)/.test(name)) return true
  return !own.names.includes(name) && isAgentVariable(name)
}

/** Whether the variable is a credential or a setting of any agent. */
export function isAgentVariable(name: string): boolean {
  return HARNESSES.some(({ meta }) => meta.environment?.names.includes(name))
}

/** A NUL, or a `=` in the name, would make the whole spawn fail. */
function isUsable(name: string, value: string): boolean {
  return name !== '' && !/[=\0]/.test(name) && !value.includes('\0')
}

/** Chirality's own variables, such as the server's token or the path of a binary. */
function isOwn(name: string): boolean {
  return /^CHIRALITY_/i.test(name)
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && !['', '0', 'false', 'no', 'off'].includes(value.toLowerCase())
}

/** The proxy is needed for every connection, but its password is not passed on. */
function withoutUserInfo(value: string): string | undefined {
  const at = value.lastIndexOf('@')
  if (at === -1) return value
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(value)?.[0] ?? ''
  return `${scheme}${value.slice(at + 1)}`
}
