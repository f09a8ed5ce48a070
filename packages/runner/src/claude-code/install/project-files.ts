import { type BigIntStats, constants, realpathSync, statSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import path from 'node:path'
import type { ProjectFile, ProjectFiles } from '@chirality/core'
import { errnoOf, readStart } from '@chirality/disk'
import { UnchangedReads } from '../../common/unchanged-reads.ts'

/**
 * The files that Claude Code would read from a folder with all setting sources, and that can run code or set addresses:
 * `.mcp.json` and `.claude/`, in the folder and its parents (measured with 2.1.197 and 2.1.325). Settings contain
 * hooks, helpers and variables; skills, commands and agents contain hooks and shell lines. CLAUDE.md and rules are only
 * text.
 */
export async function claudeProjectFiles(
  cwd: string,
  environment: Readonly<Record<string, string>>,
): Promise<ProjectFiles> {
  const reader = new Reader(ownFolders(environment))
  try {
    const root = realpathSync.native(cwd)
    const home = environment.HOME && realOrNone(environment.HOME)
    for (const [depth, folder] of foldersUpFrom(root, home).entries()) {
      const prefix = '../'.repeat(depth)
      await reader.add(path.join(folder, '.mcp.json'), `${prefix}.mcp.json`)
      await reader.add(path.join(folder, '.claude'), `${prefix}.claude`)
      // The folder itself is always read.
      if (depth > 0) await reader.add(path.join(folder, 'CLAUDE.md'), `${prefix}CLAUDE.md`)
    }
    return { files: reader.files }
  } catch (error) {
    return { files: reader.files, problem: error instanceof Error ? error.message : String(error) }
  }
}

/** The home folder and its parents belong to the user, not to a project. */
function foldersUpFrom(root: string, home: string | undefined): string[] {
  const folders = [root]
  for (let folder = root; ; ) {
    const above = path.dirname(folder)
    if (above === folder || folder === home || above === home) return folders
    folders.push(above)
    folder = above
  }
}

/** The user's own settings: the agent reads them with or without trust. */
function ownFolders(environment: Readonly<Record<string, string>>): Set<string> {
  const { HOME, CLAUDE_CONFIG_DIR } = environment
  const folders = [CLAUDE_CONFIG_DIR, HOME && path.join(HOME, '.claude')]
  return new Set(folders.flatMap(folder => (folder ? (realOrNone(folder) ?? []) : [])))
}

/**
 * Synchronous, because it runs before each turn for every folder up to the home folder, and the thread pool would cost
 * more than the call.
 */
function realOrNone(folder: string): string | undefined {
  try {
    return realpathSync.native(folder)
  } catch {
    return undefined
  }
}

class Reader {
  readonly files: ProjectFile[] = []
  readonly #own: ReadonlySet<string>
  #bytes = 0

  constructor(own: ReadonlySet<string>) {
    this.#own = own
  }

  /** Follows links, as the agent does. Throws if a file cannot be read completely. */
  async add(file: string, name: string, depth = 0): Promise<void> {
    const stats = factsOf(file, name)
    if (stats === undefined || ONLY_TEXT.test(name)) return
    if (!stats.isDirectory()) return this.#read(file, name, stats)
    if (this.#own.has(realpathSync.native(file))) return
    if (depth > MAX_DEPTH) throw new Error(`${name} has too many folders inside each other.`)
    const entries =
      entriesRead.get(file, stats) ?? entriesRead.keep(file, stats, (await readdir(file)).sort())
    for (const entry of entries) await this.add(path.join(file, entry), `${name}/${entry}`, depth + 1)
  }

  async #read(file: string, name: string, stats: BigIntStats): Promise<void> {
    if (this.files.length >= MAX_FILES) throw new Error(`There are more than ${MAX_FILES} files in .claude.`)
    this.#bytes += Number(stats.size)
    if (this.#bytes > MAX_BYTES) throw new Error(`The files in .claude are larger than ${MAX_BYTES} bytes.`)
    const content = contentsRead.get(file, stats) ?? (await this.#open(file, name))
    this.files.push({ path: name, content })
  }

  async #open(file: string, name: string): Promise<Buffer> {
    // Opened non-blocking: a FIFO at this path would block the open forever.
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
      throw unreadable(name, error)
    })
    try {
      const stats = await handle.stat({ bigint: true })
      if (!stats.isFile()) throw new Error(`${name} is not a file.`)
      // It may have grown since it was counted.
      if (stats.size > MAX_BYTES) throw new Error(`${name} is larger than ${MAX_BYTES} bytes.`)
      const size = Number(stats.size)
      const content = await readStart(handle, size + 1)
      // It grows just now, or is one of /proc: those have no size, and /proc/self/pagemap hardly has an end.
      if (content.length > size) throw new Error(`${name} is longer than its size says.`)
      return contentsRead.keep(file, stats, content)
    } finally {
      await handle.close()
    }
  }
}

function factsOf(file: string, name: string): BigIntStats | undefined {
  try {
    return statSync(file, { bigint: true })
  } catch (error) {
    if (MISSING.has(errnoOf(error) ?? '')) return undefined
    throw unreadable(name, error)
  }
}

/**
 * What was read of a path, for as long as its stat stays the same: each turn looks at all these files, and reading them
 * again would make it wait for the thread pool.
 */
const contentsRead = new UnchangedReads<Buffer>(content => content.length)
const entriesRead = new UnchangedReads<string[]>(entries => entries.length * 64)

const MISSING = new Set(['ENOENT', 'ENOTDIR', 'ELOOP'])
/**
 * In the folder itself; in its parents these files are not read without trust. Work trees are projects of their own.
 */
const ONLY_TEXT = /^\.claude\/(CLAUDE\.md|rules)$|(^|\/)\.claude\/worktrees$/
const MAX_FILES = 500
const MAX_BYTES = 4 * 1024 * 1024
const MAX_DEPTH = 12

function unreadable(name: string, error: unknown): Error {
  return new Error(`${name} cannot be read: ${error instanceof Error ? error.message : error}`)
}
