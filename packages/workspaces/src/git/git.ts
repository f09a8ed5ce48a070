import type { ChildProcess } from 'node:child_process'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import {
  buildChildEnv,
  configEnvironment,
  type GitSetting,
  processEnv,
  SpawnError,
  startProgram,
} from '@chirality/runner'
import { workspaceError } from '../workspace-error.ts'
import { findBlockingPipe } from './blocking-pipe.ts'
import { distrusted } from './distrust.ts'

export interface GitRepository {
  /** The folder with `.git`: the project or one of its parents. */
  top: string
  /** Path of the project below `top`, with `/`; empty if they are the same. */
  prefix: string
  /** Config in addition to the one that overrides the repository's dangerous settings. */
  overrides: GitSetting[]
  /** Environment of every command in this repository. */
  env?: Record<string, string>
  /** Kills every command in this repository. */
  signal?: AbortSignal | undefined
}

export type { GitSetting }

export interface GitOptions {
  env?: Record<string, string>
  input?: string | Buffer
  maxBytes?: number
  /** Cuts longer output, a little after `maxBytes`, instead of failing. */
  cuts?: boolean
  timeoutMs?: number
  /** Exit codes that count as success. Default: only 0. */
  okCodes?: number[]
  /** Kills the command. */
  signal?: AbortSignal | undefined
}

/**
 * Runs git in a repository such that its config, hooks and attributes can neither run a program nor use the network.
 */
export async function git(
  repository: OpenedRepository & Pick<GitRepository, 'signal'>,
  args: string[],
  options: GitOptions = {},
): Promise<Buffer> {
  return run(await withDistrust(repository), args, options)
}

export type OpenedRepository = Pick<GitRepository, 'top' | 'overrides' | 'env'>

async function withDistrust<T extends OpenedRepository>(repository: T): Promise<T> {
  const { top, overrides } = repository
  const settings = await distrusted(top, args => run({ top, overrides: [] }, args, {}))
  return { ...repository, overrides: [...settings, ...overrides] }
}

async function run(
  repository: OpenedRepository & Pick<GitRepository, 'signal'>,
  args: string[],
  options: GitOptions,
): Promise<Buffer> {
  const { signal = repository.signal } = options
  const { maxBytes = MAX_OUTPUT_BYTES, cuts = false, timeoutMs = TIMEOUT_MS, okCodes = [0] } = options
  if (signal?.aborted) throw workspaceError('git-failed', `git ${args[0]}: stopped`)
  const { child, stdin, stdout, stderr } = await startProgram('git', ['--no-pager', ...args], {
    cwd: repository.top,
    env: { ...environmentOf(repository), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    signal,
  }).catch(error => {
    throw notStarted('git', error)
  })
  stdin?.end(options.input ?? '')
  const errors: Buffer[] = []
  stderr?.on('data', (chunk: Buffer) => {
    if (errors.length < MAX_ERROR_CHUNKS) errors.push(chunk)
  })
  const output: Buffer[] = []
  let bytes = 0
  stdout?.on('data', (chunk: Buffer) => {
    if (bytes > maxBytes) return
    bytes += chunk.length
    output.push(chunk)
    if (bytes > maxBytes) child.kill('SIGKILL')
  })
  const ended = new Promise<number | null>(resolve => child.once('close', resolve))
  const pipe = killIfBlocked(child, repository.top, ended)
  const code = await ended
  const waitedFor = await pipe
  if (waitedFor !== undefined)
    throw workspaceError(
      'git-failed',
      `git ${args[0]}: waits for ${waitedFor}, which is a named pipe. Remove it.`,
    )
  if (bytes > maxBytes && cuts) return Buffer.concat(output)
  if (bytes > maxBytes) throw workspaceError('too-large', 'The changes are too large to show.')
  if (code !== null && okCodes.includes(code)) return Buffer.concat(output)
  const killed = signal?.aborted ? 'stopped' : 'took too long'
  const why = code === null ? killed : firstLine(Buffer.concat(errors).toString('utf8'))
  throw workspaceError('git-failed', `git ${args[0]}: ${why}`)
}

/** Kills the process while it waits for a named pipe. Resolves at its end, with that pipe if there was one. */
async function killIfBlocked(
  child: ChildProcess,
  top: string,
  ended: Promise<unknown>,
): Promise<string | undefined> {
  const over = new AbortController()
  void ended.then(() => over.abort())
  while (!over.signal.aborted) {
    await setTimeout(LOOK_MS, undefined, { signal: over.signal }).catch(() => {})
    const pipe = over.signal.aborted ? undefined : await findBlockingPipe(top, over.signal)
    if (pipe === undefined) continue
    child.kill('SIGKILL')
    await ended
    await pipe.release()
    return pipe.path
  }
  return undefined
}

/** Longer than almost any command takes. */
const LOOK_MS = 1000

/** The error for a program that could not be started: it is missing, or the system has no room for another process. */
export function notStarted(program: string, error: unknown): Error {
  if (error instanceof SpawnError && !error.code.startsWith('command-'))
    return workspaceError('git-failed', error.message, error)
  return workspaceError('git-missing', `${program} cannot be run. Install it.`, error)
}

const MAX_OUTPUT_BYTES = 8 * 1024 * 1024
const MAX_ERROR_CHUNKS = 16
const TIMEOUT_MS = 15_000

/** Settings that would let a repository name a program, or change the output. */
const HARDENING: GitSetting[] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.untrackedCache', 'false'],
  ['core.splitIndex', 'false'],
  ['core.pager', 'cat'],
  ['core.quotePath', 'false'],
  ['core.sshCommand', 'false'],
  ['core.alternateRefsCommand', 'true'],
  ['core.editor', 'false'],
  ['sequence.editor', 'false'],
  ['credential.helper', ''],
  ['diff.external', ''],
  // Git reads this file completely, and it may be /dev/zero.
  ['diff.orderFile', '/dev/null'],
  ['diff.noprefix', 'false'],
  ['diff.mnemonicPrefix', 'false'],
  ['diff.submodule', 'short'],
  // Each of these runs the program that `gpg.program` names, for signed commits that are shown or merged.
  ['log.showSignature', 'false'],
  ['merge.verifySignatures', 'false'],
  ['submodule.recurse', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['advice.addEmbeddedRepo', 'false'],
  ['color.ui', 'false'],
]

/** Environment of a git that runs nothing that this repository names. */
export async function gitEnvironment(repository: OpenedRepository): Promise<Record<string, string>> {
  return environmentOf(await withDistrust(repository))
}

function environmentOf({ top, overrides, env }: OpenedRepository): Record<string, string> {
  return {
    ...buildChildEnv({ source: processEnv() }).env,
    LC_ALL: 'C',
    GIT_DIR: path.join(top, '.git'),
    // `core.worktree` of a hostile repository would make git read the whole disk.
    GIT_WORK_TREE: top,
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    // A partial clone would fetch missing objects from an address in its config.
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_LITERAL_PATHSPECS: '1',
    ...configEnvironment([...HARDENING, ...overrides]),
    ...env,
  }
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0]?.slice(0, 300) || 'failed'
}

/** Output of git as text, without the line break at its end. */
export function outputText(output: Buffer): string {
  return output.toString('utf8').trim()
}

/** Identity of Chirality's own commits, which are not the user's. */
export const OWN_IDENTITY = {
  GIT_AUTHOR_NAME: 'Chirality',
  GIT_AUTHOR_EMAIL: 'chirality@localhost',
  GIT_COMMITTER_NAME: 'Chirality',
  GIT_COMMITTER_EMAIL: 'chirality@localhost',
}
