import path from 'node:path'
import { HarnessError, type HarnessQuery } from '@chirality/core'
import {
  COUNT_VARIABLE,
  configEnvironment,
  type GitSetting,
  LIST_NAMES,
  repositoryNames,
  settingsAgainst,
} from '../../git/git-settings.ts'
import { runHelper } from '../../process/program/run-helper.ts'
import { CODEX_ID } from '../descriptor.ts'

export interface OwnGit {
  env: Record<string, string>
  /** For `-c`. */
  overrides: string[]
}

/**
 * Codex runs `git status` when a turn starts, and git would run the filters that the config of the folder names: a
 * folder that is not trusted names no program. The agent's commands ignore these settings, because a commit without the
 * filter would be wrong.
 */
export async function codexOwnGit(query: HarnessQuery, env: Record<string, string>): Promise<OwnGit> {
  const settings: GitSetting[] = []
  const folders = query.trustProject ? [] : new Set([query.cwd, query.projectRoot ?? query.cwd])
  for (const cwd of folders) settings.push(...(await settingsFor({ cwd, env, signal: query.signal })))
  if (settings.length === 0) return { env: {}, overrides: [] }
  // Those that the caller gives.
  const first = Number(env[COUNT_VARIABLE] ?? 0) || 0
  return {
    env: configEnvironment(settings, first),
    // Not `exclude`: that would replace the user's own list.
    overrides: [`shell_environment_policy.set.${COUNT_VARIABLE}="${first}"`],
  }
}

interface Place {
  cwd: string
  env: Record<string, string>
  signal: AbortSignal
}

async function settingsFor(place: Place): Promise<GitSetting[]> {
  const names = repositoryNames(await ask(place, LIST_NAMES))
  if (names.size === 0) return []
  const all = [...names]
  return [
    ...settingsAgainst(names),
    ['core.hooksPath', '/dev/null'],
    ...(names.has('core.fsmonitor') ? [['core.fsmonitor', 'false'] satisfies GitSetting] : []),
    // `git status` starts another one in each submodule, which has a config of its own.
    ['diff.ignoreSubmodules', 'all'],
    ...[...(await submodules(place))].map((name): GitSetting => [`submodule.${name}.ignore`, 'all']),
    ...(all.some(name => PARTIAL_CLONE.test(name)) ? withoutNetwork(all) : []),
  ]
}

/** A partial clone fetches missing objects with programs that its config names. */
const PARTIAL_CLONE = /^(?:extensions\.partialclone|remote\..+\.(?:promisor|partialclonefilter))$/s

function withoutNetwork(names: string[]): GitSetting[] {
  const allowed = names.filter(name => /^protocol\..+\.allow$/s.test(name))
  return ['protocol.allow', ...allowed].map(name => [name, 'never'])
}

/** Only those that `.gitmodules` names: what it says of one wins over the general setting. */
async function submodules(place: Place): Promise<Set<string>> {
  const top = (await ask(place, ['rev-parse', '--show-toplevel'])).replace(/\n$/, '')
  if (top === '') return new Set()
  const list = ['config', '--list', '--name-only', '-z']
  const sources = [
    `--file=${path.join(top, '.gitmodules')}`,
    '--blob=:.gitmodules',
    '--blob=HEAD:.gitmodules',
  ]
  const listed = await Promise.all(sources.map(source => ask(place, [...list, source])))
  const names = listed.flatMap(text => text.split('\0'))
  return new Set(names.flatMap(name => /^submodule\.(.+)\.[^.]+$/s.exec(name)?.[1] ?? []))
}

/** Empty if git fails, as Codex's own would, or is not there. */
async function ask({ cwd, env, signal }: Place, args: string[]): Promise<string> {
  const { stdout, code, timedOut } = await runHelper('git', [...NO_PROGRAMS, ...args], {
    cwd,
    signal,
    env: { ...env, ...QUIET },
    timeoutMs: TIMEOUT_MS,
    maxChars: MAX_CHARS,
  })
  if (timedOut || stdout.length >= MAX_CHARS)
    throw new HarnessError(
      `The git config of ${cwd} is too large to read, so Codex is not started there.`,
      'invalid_query',
      CODEX_ID,
    )
  return code === 0 ? stdout : ''
}

/** Reading the index asks the file monitor. */
const NO_PROGRAMS = ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null']
const QUIET = { GIT_OPTIONAL_LOCKS: '0', GIT_NO_LAZY_FETCH: '1', GIT_ALLOW_PROTOCOL: 'none' }
const TIMEOUT_MS = 60_000
const MAX_CHARS = 1024 * 1024
