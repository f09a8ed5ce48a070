import { constants, type Stats } from 'node:fs'
import {
  appendFile,
  copyFile,
  cp,
  lstat,
  mkdir,
  readdir,
  readlink,
  rename,
  rm,
  symlink,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { errnoOf } from '@chirality/disk'
import { findRepository } from '../git/find-repository.ts'
import { type GitRepository, git } from '../git/git.ts'
import type { WorkspaceSetup } from './workspace-file.ts'

export interface FillOptions {
  projectRoot: string
  /** The same folder in the worktree. */
  folder: string
  signal: AbortSignal
}

export interface Filled {
  /** Relative to the root of the project. */
  copied: string[]
  shared: string[]
  cloned: string[]
  /** Failed steps as sentences. All other steps were done. */
  problems: string[]
}

/**
 * Gives a worktree the files that git does not check out. Reads nothing outside the project, writes nothing outside the
 * worktree, and keeps existing files.
 */
export async function fillWorktree(setup: WorkspaceSetup, options: FillOptions): Promise<Filled> {
  const filled: Filled = { copied: [], shared: [], cloned: [], problems: [] }
  const budget = { bytes: MAX_COPY_BYTES, files: MAX_FILES }
  const each = async (names: readonly string[], work: (name: string) => Promise<void>) => {
    for (const name of names) {
      options.signal.throwIfAborted()
      await work(name).catch((error: unknown) => {
        options.signal.throwIfAborted()
        filled.problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
      })
    }
  }
  await each(setup.copy, async pattern => {
    await each(await matching(options.projectRoot, pattern), async name => {
      const source = await inside(options.projectRoot, name)
      if (source === undefined || (await inside(options.folder, name)) !== undefined) return
      if (!source.isFile()) throw new Error('is no regular file.')
      budget.bytes -= source.size
      budget.files -= 1
      if (budget.bytes < 0 || budget.files < 0)
        throw new Error(`is too much to copy (${size(MAX_COPY_BYTES)}).`)
      await placeWhole(options.folder, name, part =>
        copyFile(
          path.join(options.projectRoot, name),
          part,
          constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE,
        ),
      )
      filled.copied.push(name)
    })
  })
  await each(setup.share, async name => {
    const linked = await readlink(path.join(options.folder, name)).catch(() => undefined)
    if (linked === path.join(options.projectRoot, name)) return
    if (!(await isFolderToTake(options, name))) return
    await requireIgnored(options.projectRoot, name)
    await symlink(path.join(options.projectRoot, name), await place(options.folder, name))
    await ignoreLink(options.folder, name)
    filled.shared.push(name)
  })
  await each(setup.clone, async name => {
    if (!(await isFolderToTake(options, name))) return
    const source = path.join(options.projectRoot, name)
    await requireSmall(source, options.signal)
    await placeWhole(options.folder, name, part =>
      cp(source, part, {
        recursive: true,
        verbatimSymlinks: true,
        mode: constants.COPYFILE_FICLONE,
        errorOnExist: true,
        filter: async file => {
          options.signal.throwIfAborted()
          const facts = await lstat(file)
          return facts.isFile() || facts.isDirectory() || facts.isSymbolicLink()
        },
      }),
    )
    filled.cloned.push(name)
  })
  return filled
}

/** Values of the variables for one worktree. Each `{port}` becomes another port that is free now and not in `taken`. */
export async function fillVariables(
  variables: Record<string, string>,
  { id, taken }: { id: string; taken: ReadonlySet<string> },
): Promise<Record<string, string>> {
  const filled: Record<string, string> = {}
  const used = new Set(taken)
  for (const [name, value] of Object.entries(variables)) {
    let port = ''
    while (value.includes('{port}') && (port === '' || used.has(port))) port = await freePort()
    used.add(port)
    filled[name] = value.replaceAll('{port}', port).replaceAll('{name}', id.replaceAll('-', '_'))
  }
  return filled
}

async function freePort(): Promise<string> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(String(typeof address === 'object' ? address?.port : '')))
    })
  })
}

async function matching(root: string, pattern: string): Promise<string[]> {
  const folder = path.posix.dirname(pattern)
  const last = path.posix.basename(pattern)
  if (!last.includes('*')) return [pattern]
  const facts = folder === '.' ? undefined : await inside(root, folder)
  if (folder !== '.' && !facts?.isDirectory()) return []
  const parts = last.split('*').map(part => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  const wanted = new RegExp(`^${parts.join('[^/]*')}$`)
  const entries = await readdir(path.join(root, folder), { withFileTypes: true })
  const names = entries.filter(entry => entry.isFile() && wanted.test(entry.name)).map(({ name }) => name)
  return names.map(name => (folder === '.' ? name : `${folder}/${name}`)).sort()
}

/** Undefined if the file is missing. Throws if it is a link or behind one, because that could lead anywhere. */
async function inside(root: string, name: string): Promise<Stats | undefined> {
  let facts: Stats | undefined
  let place = root
  for (const part of name.split('/')) {
    place = path.join(place, part)
    facts = await lstat(place).catch((error: unknown) => {
      if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined
      throw error
    })
    if (facts === undefined) return undefined
    if (facts.isSymbolicLink()) throw new Error('is a link, or behind one.')
  }
  return facts
}

/** The path of a file in the worktree; makes its folder. */
async function place(folder: string, name: string): Promise<string> {
  const parent = path.posix.dirname(name)
  if (parent !== '.') {
    await inside(folder, parent)
    await mkdir(path.join(folder, parent), { recursive: true })
  }
  return path.join(folder, name)
}

/** Fills a temporary name and renames it: a partial copy under the final name would count as complete later. */
async function placeWhole(
  folder: string,
  name: string,
  fill: (part: string) => Promise<void>,
): Promise<void> {
  const target = await place(folder, name)
  const part = `${target}.chirality-part`
  // Removes the leftover of a killed process.
  await rm(part, { recursive: true, force: true })
  try {
    await fill(part)
    if ((await inside(folder, name)) !== undefined) throw new Error('was made by somebody else meanwhile.')
    await rename(part, target)
  } catch (error) {
    await rm(part, { recursive: true, force: true }).catch(() => {})
    throw error
  }
}

async function isFolderToTake({ projectRoot, folder }: FillOptions, name: string): Promise<boolean> {
  const source = await inside(projectRoot, name)
  if (source === undefined || (await inside(folder, name)) !== undefined) return false
  if (!source.isDirectory()) throw new Error('is no folder.')
  return true
}

async function requireSmall(folder: string, signal: AbortSignal): Promise<void> {
  let [bytes, entries] = [0, 0]
  const folders = [folder]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    signal.throwIfAborted()
    for (const entry of await readdir(next, { withFileTypes: true })) {
      entries += 1
      if (entry.isDirectory()) folders.push(path.join(next, entry.name))
      else if (entry.isFile()) bytes += (await lstat(path.join(next, entry.name))).size
      if (bytes > MAX_CLONE_BYTES || entries > MAX_CLONE_ENTRIES)
        throw new Error(`is too much to clone (${size(MAX_CLONE_BYTES)}). Share it instead.`)
    }
  }
}

/**
 * Refuses a folder that git does not ignore. The shared link is ignored through a file that all work trees read, which
 * would hide such a folder from the user's own git too.
 */
async function requireIgnored(projectRoot: string, name: string): Promise<void> {
  const repository = await findRepository(projectRoot)
  if (repository !== undefined && !(await isIgnored(repository, `${below(repository, name)}/`)))
    throw new Error('is not ignored by git, so it cannot be shared.')
}

/** Ignores the link itself: a pattern with a trailing slash ignores a folder, but not a link in its place. */
async function ignoreLink(folder: string, name: string): Promise<void> {
  const repository = await findRepository(folder)
  if (repository === undefined) return
  const link = below(repository, name)
  if (await isIgnored(repository, link)) return
  const found = await git(repository, ['rev-parse', '--git-path', 'info/exclude'])
  const exclude = path.resolve(repository.top, found.toString('utf8').trim())
  await mkdir(path.dirname(exclude), { recursive: true })
  await appendFile(exclude, `/${link.replace(/[*?[\]\\ !#]/g, '\\$&')}\n`)
}

async function isIgnored(repository: GitRepository, file: string): Promise<boolean> {
  const ignored = await git(repository, ['check-ignore', '--', file], {
    okCodes: [0, 1],
    env: { GIT_LITERAL_PATHSPECS: '0' },
  })
  return ignored.length > 0
}

function below({ prefix }: GitRepository, name: string): string {
  return prefix === '' ? name : `${prefix}/${name}`
}

function size(bytes: number): string {
  return `at most ${bytes / 1024 ** 2} MiB`
}

const MAX_COPY_BYTES = 64 * 1024 ** 2
const MAX_FILES = 1000
const MAX_CLONE_BYTES = 4 * 1024 ** 3
const MAX_CLONE_ENTRIES = 400_000
