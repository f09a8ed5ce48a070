import { spawn } from 'node:child_process'
import path from 'node:path'
import { buildChildEnv, processEnv } from '@chirality/runner'
import { workspaceError } from '../workspace-error.ts'

export interface GitRepository {
  /** The folder of `.git`: the project or one of its parents. */
  top: string
  /** The path of the project below `top`, with `/`; empty if they are the same. */
  prefix: string
  /** Config that overrides programs and external files that the repository itself names. */
  overrides: GitSetting[]
  /** For every command in it. */
  env?: Record<string, string>
  /** Kills every command in it. */
  signal?: AbortSignal | undefined
}

export type GitSetting = [name: string, value: string]

export interface GitOptions {
  env?: Record<string, string>
  input?: string | Buffer
  maxBytes?: number
  /** Longer output is cut there, a little longer than `maxBytes`, instead of refused. */
  cuts?: boolean
  timeoutMs?: number
  /** Exit codes that count as success. Default only 0. */
  okCodes?: number[]
  /** Kills it. */
  signal?: AbortSignal | undefined
}

/** Runs git in a repository, so that its config, hooks and attributes cannot run a program or use the network. */
export async function git(
  repository: Pick<GitRepository, 'top' | 'overrides' | 'env' | 'signal'>,
  args: string[],
  options: GitOptions = {},
): Promise<Buffer> {
  const { signal = repository.signal } = options
  const { maxBytes = MAX_OUTPUT_BYTES, cuts = false, timeoutMs = TIMEOUT_MS, okCodes = [0] } = options
  const child = spawn('git', ['--no-pager', ...args], {
    cwd: repository.top,
    env: { ...gitEnvironment(repository), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    signal,
  })
  child.stdin.on('error', () => {})
  child.stdin.end(options.input ?? '')
  const errors: Buffer[] = []
  child.stderr.on('data', (chunk: Buffer) => {
    if (errors.length < MAX_ERROR_CHUNKS) errors.push(chunk)
  })
  const output: Buffer[] = []
  let bytes = 0
  child.stdout.on('data', (chunk: Buffer) => {
    if (bytes > maxBytes) return
    bytes += chunk.length
    output.push(chunk)
    if (bytes > maxBytes) child.kill('SIGKILL')
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  }).catch((error: NodeJS.ErrnoException) => {
    if (signal?.aborted) throw workspaceError('git-failed', `git ${args[0]}: stopped`, error)
    throw workspaceError('git-missing', 'git cannot be run. Install it.', error)
  })
  if (bytes > maxBytes && cuts) return Buffer.concat(output)
  if (bytes > maxBytes) throw workspaceError('too-large', 'The changes are too large to show.')
  if (code !== null && okCodes.includes(code)) return Buffer.concat(output)
  const why = code === null ? 'took too long' : firstLine(Buffer.concat(errors).toString('utf8'))
  throw workspaceError('git-failed', `git ${args[0]}: ${why}`)
}

const MAX_OUTPUT_BYTES = 8 * 1024 * 1024
const MAX_ERROR_CHUNKS = 16
const TIMEOUT_MS = 15_000

/** Each of these settings would let a repository name a program, or change the output. */
const HARDENING: GitSetting[] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.untrackedCache', 'false'],
  ['core.splitIndex', 'false'],
  ['core.pager', 'cat'],
  ['core.quotePath', 'false'],
  ['core.sshCommand', 'false'],
  ['credential.helper', ''],
  ['diff.external', ''],
  // Read completely, and it may be /dev/zero.
  ['diff.orderFile', '/dev/null'],
  ['diff.noprefix', 'false'],
  ['diff.mnemonicPrefix', 'false'],
  ['diff.submodule', 'short'],
  // Runs the program that `gpg.program` names, for each signed commit that is shown.
  ['log.showSignature', 'false'],
  ['submodule.recurse', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['advice.addEmbeddedRepo', 'false'],
  ['color.ui', 'false'],
]

/** Through the environment and not with `-c`, which splits at the first `=` of a name. */
function configEnvironment(settings: GitSetting[]): Record<string, string> {
  const pairs = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return { GIT_CONFIG_COUNT: String(settings.length), ...Object.fromEntries(pairs) }
}

/** Of a git in this repository that runs nothing of it. */
export function gitEnvironment({
  top,
  overrides,
  env,
}: Pick<GitRepository, 'top' | 'overrides' | 'env'>): Record<string, string> {
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
