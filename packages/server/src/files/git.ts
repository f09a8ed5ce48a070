import { spawn } from 'node:child_process'
import { lstat } from 'node:fs/promises'
import path from 'node:path'
import { buildChildEnv, processEnv } from '@chirality/runner'
import { CallError } from '../errors/call-error.ts'

export interface GitRepository {
  /** Where `.git` is; the project or a folder above it. */
  top: string
  /** The project below `top`, with `/`; empty when it is the same. */
  prefix: string
  /** Config that takes the filters away which the repository itself names. */
  overrides: [name: string, value: string][]
}

export interface GitOptions {
  env?: Record<string, string>
  input?: string
  maxBytes?: number
  timeoutMs?: number
  /** Exit codes that are no failure. Default only 0. */
  okCodes?: number[]
}

/** The repository that a project is in, or undefined. Nothing in it is run by finding it. */
export async function findRepository(root: string): Promise<GitRepository | undefined> {
  for (let folder = root; ; folder = path.dirname(folder)) {
    if (await isRepository(path.join(folder, '.git'))) {
      const prefix = path.relative(folder, root).split(path.sep).join('/')
      return { top: folder, prefix, overrides: await filterOverrides(folder) }
    }
    if (folder === path.dirname(folder)) return undefined
  }
}

/** As git sees it; and ours, for with an explicit folder git no longer asks whose it is. */
async function isRepository(gitFolder: string): Promise<boolean> {
  const stats = await lstat(gitFolder).catch(() => undefined)
  if (stats === undefined || (process.geteuid !== undefined && stats.uid !== process.geteuid())) return false
  // A work tree of its own has a file that says where the rest is.
  if (stats.isFile()) return true
  const head = await lstat(path.join(gitFolder, 'HEAD')).catch(() => undefined)
  return stats.isDirectory() && head !== undefined
}

/** Runs git in a repository. Its own config, hooks and attributes get nothing to run, and no network. */
export async function git(
  { top, overrides }: Pick<GitRepository, 'top' | 'overrides'>,
  args: string[],
  options: GitOptions = {},
): Promise<Buffer> {
  const { maxBytes = MAX_OUTPUT_BYTES, timeoutMs = TIMEOUT_MS, okCodes = [0] } = options
  const child = spawn('git', ['--no-pager', ...args], {
    cwd: top,
    env: { ...gitEnvironment(top), ...configEnvironment([...HARDENING, ...overrides]), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
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
    bytes += chunk.length
    if (bytes > maxBytes) child.kill('SIGKILL')
    else output.push(chunk)
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  }).catch((error: NodeJS.ErrnoException) => {
    throw new CallError('PRECONDITION_FAILED', 'git-missing', 'git cannot be run. Install it.', error)
  })
  if (bytes > maxBytes)
    throw new CallError('PAYLOAD_TOO_LARGE', 'too-large', 'The changes are too large to show.')
  if (code !== null && okCodes.includes(code)) return Buffer.concat(output)
  const why = code === null ? 'took too long' : firstLine(Buffer.concat(errors).toString('utf8'))
  throw new CallError('UNPROCESSABLE_CONTENT', 'git-failed', `git ${args[0]}: ${why}`)
}

const MAX_OUTPUT_BYTES = 8 * 1024 * 1024
const MAX_ERROR_CHUNKS = 16
const TIMEOUT_MS = 15_000

/** Each of these would let a repository name a program, or change what we read. */
const HARDENING: [name: string, value: string][] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.untrackedCache', 'false'],
  ['core.splitIndex', 'false'],
  ['core.pager', 'cat'],
  ['core.quotePath', 'false'],
  ['core.sshCommand', 'false'],
  ['credential.helper', ''],
  ['diff.external', ''],
  ['diff.noprefix', 'false'],
  ['diff.mnemonicPrefix', 'false'],
  ['diff.submodule', 'short'],
  ['submodule.recurse', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['advice.addEmbeddedRepo', 'false'],
  ['color.ui', 'false'],
]

/** Through the environment and not with `-c`, which splits at the first `=` of a name. */
function configEnvironment(settings: [name: string, value: string][]): Record<string, string> {
  const pairs = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return { GIT_CONFIG_COUNT: String(settings.length), ...Object.fromEntries(pairs) }
}

function gitEnvironment(top: string): Record<string, string> {
  const { env } = buildChildEnv({ source: processEnv(), credentials: 'none' })
  return {
    ...env,
    LC_ALL: 'C',
    GIT_DIR: path.join(top, '.git'),
    // `core.worktree` of a hostile repository would have us read the whole disk.
    GIT_WORK_TREE: top,
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    // A partial clone fetches what is missing, from a place that its config names.
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_LITERAL_PATHSPECS: '1',
  }
}

/** Filters run a command for each file. The user's own (of LFS, say) are trusted; those in the repository are not. */
async function filterOverrides(top: string): Promise<GitRepository['overrides']> {
  const listed = await git({ top, overrides: [] }, ['config', '--list', '--show-scope', '--name-only', '-z'])
  const words = listed.toString('utf8').split('\0')
  const drivers = new Set<string>()
  for (let i = 0; i + 1 < words.length; i += 2) {
    const driver = /^filter\.(.+)\.[^.]+$/s.exec(words[i + 1] ?? '')?.[1]
    if (driver !== undefined && (words[i] === 'local' || words[i] === 'worktree')) drivers.add(driver)
  }
  return [...drivers].flatMap((driver): GitRepository['overrides'] => [
    [`filter.${driver}.clean`, ''],
    [`filter.${driver}.smudge`, ''],
    [`filter.${driver}.process`, ''],
    [`filter.${driver}.required`, 'false'],
  ])
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0]?.slice(0, 300) || 'failed'
}
