import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, open } from 'node:fs/promises'
import path from 'node:path'
import { errnoOf } from '@chirality/disk'

/** `.chirality/workspace.yaml` of a project. It comes with a clone, so it is not used before a person allowed it. */
export interface WorkspaceFile {
  /** The text as shown to a person. */
  text: string
  /** Hash of exactly this text. */
  hash: string
  /** The parsed request, or the reason why it cannot be used. */
  setup: WorkspaceSetup | { problem: string }
}

/** Additions to a new worktree beyond the check-out. Paths are relative to the root of the project. */
export interface WorkspaceSetup {
  /** Files; the last part may contain `*`, as in `.env*`. */
  copy: string[]
  /** Folders that the worktree links to those of the project. */
  share: string[]
  /** Folders that are copied into the worktree. */
  clone: string[]
  command?: string | undefined
  minutes: number
  /** Variables for the command and the agent. `{port}` is a free port, `{name}` the name of the worktree with `_`. */
  variables: Record<string, string>
}

export const WORKSPACE_FILE = '.chirality/workspace.yaml'

/** Undefined if the project has none. */
export async function readWorkspaceFile(projectRoot: string): Promise<WorkspaceFile | undefined> {
  const text = await readText(projectRoot)
  if (text === undefined) return undefined
  const hash = createHash('sha256').update(text).digest('hex')
  try {
    if (Buffer.byteLength(text) > MAX_BYTES) throw new Error(`It has more than ${MAX_BYTES} bytes.`)
    // Loaded on demand: most projects have no such file.
    const { parseYaml } = await import('./parse-yaml.ts')
    return { text, hash, setup: parseSetup(parseYaml(text)) }
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    return { text, hash, setup: { problem: `${WORKSPACE_FILE}: ${why}` } }
  }
}

async function readText(projectRoot: string): Promise<string | undefined> {
  try {
    if (!(await lstat(path.join(projectRoot, path.dirname(WORKSPACE_FILE)))).isDirectory()) return undefined
    // Non-blocking and without links: a FIFO must not block, and a link could name any file of the user.
    const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
    const handle = await open(path.join(projectRoot, WORKSPACE_FILE), flags)
    try {
      const stats = await handle.stat()
      if (!stats.isFile()) return undefined
      const buffer = Buffer.alloc(MAX_BYTES + 1)
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0)
      // A file that is too long for a person to read is shown cut, and refused.
      return buffer.toString('utf8', 0, bytesRead)
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'].includes(errnoOf(error) ?? '')) return undefined
    throw error
  }
}

/** Parses the setup from a file or from the user's settings. Throws a sentence about the fault. */
export function parseSetup(value: unknown): WorkspaceSetup {
  if (value === null) return { copy: [], share: [], clone: [], minutes: DEFAULT_MINUTES, variables: {} }
  if (!isRecord(value)) throw new Error('It has to be a list of keys and values.')
  const unknown = Object.keys(value).find(key => !KEYS.has(key))
  if (unknown !== undefined)
    throw new Error(`It has an unknown key: ${unknown}. Known: ${[...KEYS].join(', ')}`)
  const { command, minutes = DEFAULT_MINUTES } = value
  if (command !== undefined && (typeof command !== 'string' || command.trim() === '' || /\0/.test(command)))
    throw new Error('command has to be a text.')
  if (typeof minutes !== 'number' || !(minutes > 0 && minutes <= MAX_MINUTES))
    throw new Error(`minutes has to be a number up to ${MAX_MINUTES}.`)
  return {
    copy: paths(value, 'copy'),
    share: paths(value, 'share'),
    clone: paths(value, 'clone'),
    command,
    minutes,
    variables: variables(value.variables),
  }
}

function paths(value: Record<string, unknown>, key: 'copy' | 'share' | 'clone'): string[] {
  const list = value[key] ?? []
  if (!Array.isArray(list) || list.length > MAX_PATHS || list.some(item => typeof item !== 'string'))
    throw new Error(`${key} has to be a list of at most ${MAX_PATHS} paths.`)
  for (const item of list as string[]) {
    const parts = item.split('/')
    const isBad = parts.some(part => part === '' || part === '.' || part === '..' || /[\0\\]/.test(part))
    const isOurs = parts.some(part => OWN_FOLDERS.has(part.toLowerCase()))
    const hasStar = parts.slice(0, key === 'copy' ? -1 : undefined).some(part => part.includes('*'))
    if (isBad || isOurs || hasStar || item.length > MAX_PATH)
      throw new Error(`${key}: ${item} is no path below the project that can be used here.`)
  }
  return list as string[]
}

function variables(value: unknown = {}): Record<string, string> {
  if (!isRecord(value) || Object.keys(value).length > MAX_PATHS)
    throw new Error(`variables has to be at most ${MAX_PATHS} names with their values.`)
  const checked: Record<string, string> = {}
  for (const [name, given] of Object.entries(value)) {
    if (!/^[A-Z_][A-Z0-9_]{0,63}$/.test(name) || RUNS_CODE.test(name))
      throw new Error(`variables: ${name} cannot be set here.`)
    if ((typeof given !== 'string' && typeof given !== 'number') || /\0/.test(String(given)))
      throw new Error(`variables: ${name} has to be a text or a number.`)
    checked[name] = String(given)
  }
  return checked
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const KEYS = new Set(['copy', 'share', 'clone', 'command', 'minutes', 'variables'])
const OWN_FOLDERS = new Set(['.git', '.chirality'])
/** Variables that choose programs, credentials or servers for the agent itself. */
const RUNS_CODE =
  /^(?:PATH|HOME|USER|SHELL|ENV|IFS|BASH_ENV|PROMPT_COMMAND|PAGER|EDITOR|VISUAL|BROWSER|LD_.*|DYLD_.*|NODE_.*|NPM_.*|PYTHON.*|RUBY.*|PERL.*|JAVA_.*|GIT_.*|SSH_.*|XDG_.*|CHIRALITY_.*|ANTHROPIC_.*|CLAUDE_.*|OPENAI_.*|CODEX_.*|GEMINI_.*|.*_PROXY)$/
const MAX_BYTES = 16 * 1024
const MAX_PATHS = 64
const MAX_PATH = 512
const MAX_MINUTES = 60
const DEFAULT_MINUTES = 10
