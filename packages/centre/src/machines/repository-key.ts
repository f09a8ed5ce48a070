import { stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { readRegularFile } from '../files/read-file.ts'

/** The name that a project has on every machine: its git remote without login, else the name of its folder. */
export async function repositoryKey(root: string): Promise<string> {
  return (await remoteIn(join(root, '.git'))) ?? basename(root)
}

/**
 * The name that the budget of a project has on every machine: the git remote of its repository, with the folder in it if
 * it is not the whole. Undefined without a remote: unrelated folders of the same name would share a budget.
 */
export async function budgetKey(root: string): Promise<string | undefined> {
  const found = await repositoryOf(root)
  if (found === undefined) return undefined
  const remote = await remoteIn(found.git)
  if (remote === undefined) return undefined
  const folder = relative(found.top, root).split(sep).join('/')
  return short(folder === '' ? remote : `${remote}#${folder}`)
}

/** The nearest repository that a folder is in, and where its settings are, also of a worktree or a submodule. */
async function repositoryOf(root: string): Promise<{ top: string; git: string } | undefined> {
  for (let top = root; ; top = dirname(top)) {
    const path = join(top, '.git')
    const found = await stat(path).catch(() => undefined)
    if (found?.isDirectory()) return { top, git: path }
    if (found?.isFile()) {
      const said = /^gitdir: (.+)$/m.exec(await textOf(path))?.[1]
      if (said === undefined) return undefined
      const git = resolve(top, said.trim())
      const common = (await textOf(join(git, 'commondir'))).trim()
      return { top, git: common === '' ? git : resolve(git, common) }
    }
    if (dirname(top) === top) return undefined
  }
}

async function remoteIn(git: string): Promise<string | undefined> {
  const [, origin = ''] = (await textOf(join(git, 'config'))).split(/^\[remote "origin"\]\s*$/m)
  const url = /^\s*url\s*=\s*(\S+)\s*$/m.exec(origin.split(/^\[/m)[0] ?? '')?.[1]
  return url === undefined ? undefined : short(normalRemote(url))
}

/** Empty for what is no file. A clone can hold anything there; reading a pipe would never end. */
async function textOf(file: string): Promise<string> {
  return readRegularFile(file, MAX_BYTES).catch(() => '')
}

/** `host/path`, however it is dialled. Undefined for a folder of one machine. */
export function normalRemote(url: string): string | undefined {
  const [, host, path] =
    /^[a-z+]+:\/\/(?:[^@/]*@)?([^/:]+)(?::\d+)?\/(.+)$/i.exec(url) ??
    /^(?:[^@/]+@)?([^/:]+):(?!\/\/)(.+)$/.exec(url) ??
    []
  if (host === undefined || path === undefined) return undefined
  const trimmed = path.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '')
  return `${host.toLowerCase()}/${trimmed}`
}

/** A longer name is refused by the other machines. */
function short(key: string | undefined): string | undefined {
  return key !== undefined && key.length <= MAX_KEY ? key : undefined
}

const MAX_BYTES = 1024 * 1024
const MAX_KEY = 1000
