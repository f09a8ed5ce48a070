import path from 'node:path'
import { findRepository } from '../git/find-repository.ts'
import { type GitRepository, git, outputText } from '../git/git.ts'
import { type Unfinished, unfinishedIn } from '../git/unfinished.ts'
import { workspaceError } from '../workspace-error.ts'
import { contains, findBase, freeBranch, resolveCommit, slugOf } from './check-base.ts'
import { CHECKOUT_TIMEOUT_MS, commitOfFiles, countOwnCommits, setKept } from './kept-work.ts'
import type { Worktree } from './worktree-records.ts'

/** The work of a session while it is moved to a clone of the repository on another machine. */
export interface CarriedWork {
  head: string
  /** A commit of the uncommitted files, in the form of a stash. Absent if there were none. */
  work?: string | undefined
  files: number
  branch: string
  /** The commit at which the work started, and the branch that it goes to. */
  base: string
  baseBranch: string | null
  /** An unfinished merge or the like. Its conflicts are in the files; its own state is not moved. */
  unfinished?: Unfinished | undefined
  /** False if the other clone has all commits, so that no bundle is needed. */
  hasBundle: boolean
}

export interface PackWork {
  /** The session's work folder. */
  folder: string
  base?: string
  baseBranch?: string | null
  /** Commits that the other clone has. */
  haves: readonly string[]
  /** Path for the bundle. */
  bundle: string
  /** Names the refs that keep the commits during packing. */
  id: string
  /** Stops packing. */
  signal?: AbortSignal | undefined
}

/** Packs the commits and the uncommitted, unignored files that the other clone lacks. Changes no file. */
export async function packWork(options: PackWork): Promise<CarriedWork> {
  const { folder, haves, bundle, id, signal, ...from } = options
  const found = await findRepository(folder)
  if (found === undefined)
    throw workspaceError(
      'worktree-refused',
      `${folder} is not in a git repository, so its files cannot be carried.`,
    )
  const repository: GitRepository = { ...found, signal }
  const head = await resolveCommit(repository, 'HEAD')
  if (head === undefined)
    throw workspaceError('worktree-refused', 'The repository has no commit yet. Commit something first.')
  if (await contains(repository, head, '.gitmodules'))
    throw workspaceError(
      'worktree-refused',
      `The repository of ${folder} has submodules, whose files cannot be carried. Its sessions stay on this machine.`,
    )
  const named = outputText(await git(repository, ['rev-parse', '--abbrev-ref', 'HEAD']))
  const branch = named === 'HEAD' ? 'work' : named
  const scratch = path.dirname(bundle)
  const { work, files } = await commitOfFiles({ folder, branch }, repository, head, scratch)
  const unfinished = await unfinishedIn(repository)
  const known = await knownCommits(repository, haves)
  const refs = [
    { name: `refs/chirality/carried/${id}/head`, commit: head },
    ...(work === undefined ? [] : [{ name: `refs/chirality/carried/${id}/work`, commit: work }]),
  ]
  const missing = ['rev-list', '--count', ...refs.map(({ commit }) => commit), '--not', ...known]
  const hasBundle = outputText(await git(repository, missing)) !== '0'
  if (hasBundle) {
    const change = (line: (ref: { name: string; commit: string }) => string) =>
      // Runs without the signal: an abort must not leave the refs behind.
      git(found, ['update-ref', '--stdin'], { input: refs.map(line).join('') })
    await change(({ name, commit }) => `update ${name} ${commit}\n`)
    try {
      const names = refs.map(({ name }) => name)
      await git(repository, ['bundle', 'create', '--quiet', bundle, ...names, '--not', ...known], {
        timeoutMs: CHECKOUT_TIMEOUT_MS,
      })
    } finally {
      await change(({ name }) => `delete ${name}\n`)
    }
  }
  return {
    head,
    files,
    branch,
    hasBundle,
    work,
    unfinished,
    base: from.base ?? head,
    baseBranch: from.baseBranch ?? (named === 'HEAD' ? null : named),
  }
}

/** Identifies clones of one repository by its first commits. */
export interface RepositoryMark {
  roots: string[]
  /** The folder below the top of the repository, with `/`. */
  prefix: string
  /** Commits that the clone has, newest first, so that they need not be sent. */
  commits: string[]
}

/** Undefined if the folder is in no repository, or in one without a commit. */
export async function repositoryMark(folder: string): Promise<RepositoryMark | undefined> {
  const repository = await findRepository(folder)
  const head = repository && (await resolveCommit(repository, 'HEAD'))
  if (repository === undefined || head === undefined) return undefined
  const refs = ['for-each-ref', '--sort=-committerdate', `--count=${MAX_HAVES}`, '--format=%(objectname)']
  const tips = outputText(await git(repository, [...refs, 'refs/heads', 'refs/remotes', 'refs/tags']))
  const roots = await rootsOf(repository, head)
  return { roots, prefix: repository.prefix, commits: [...new Set(lines(tips))] }
}

/** First commits of HEAD by repository folder. Finding them reads all commits, so they are cached. */
const knownRoots = new Map<string, { head: string; roots: string[] }>()

async function rootsOf(repository: GitRepository, head: string): Promise<string[]> {
  const known = knownRoots.get(repository.top)
  if (known?.head === head) return [...known.roots]
  const listed = await git(repository, ['rev-list', '--max-parents=0', head], { timeoutMs: 60_000 })
  const roots = lines(outputText(listed)).sort()
  // A shallow clone may get further commits later.
  const isShallow = outputText(await git(repository, ['rev-parse', '--is-shallow-repository'])) === 'true'
  if (!isShallow) knownRoots.set(repository.top, { head, roots })
  return [...roots]
}

/**
 * Commits that all given clones have, as far as this one knows them. Without other clones, the commits of this clone's
 * remotes. A clone with nothing in common is ignored: it has to fetch first.
 */
export async function commonCommits(
  folder: string,
  clones: readonly (readonly string[])[],
): Promise<string[]> {
  const repository = await findRepository(folder)
  if (repository === undefined) return []
  const known = (await Promise.all(clones.map(haves => knownCommits(repository, haves)))).filter(
    haves => haves.length > 0,
  )
  if (known.length === 0) {
    const refs = ['for-each-ref', '--sort=-committerdate', `--count=${MAX_HAVES}`, '--format=%(objectname)']
    return lines(outputText(await git(repository, [...refs, 'refs/remotes'])))
  }
  let common = [...new Set(known.flat())].slice(0, MAX_HAVES)
  for (const haves of known) {
    const missing = await git(repository, ['rev-list', '--stdin'], {
      input: `${[...common, ...haves.map(have => `^${have}`)].join('\n')}\n`,
      maxBytes: MAX_LIST_BYTES,
    })
    const absent = new Set(lines(outputText(missing)))
    common = common.filter(commit => !absent.has(commit))
  }
  return common
}

/**
 * Keeps the work of a session that another machine took over: its commit and its uncommitted files become refs below
 * `refs/chirality/orphan/`. Resolves with their common name. Changes no file.
 */
export async function keepOrphan(folder: string, name: string): Promise<string | undefined> {
  const repository = await findRepository(folder)
  const head = repository && (await resolveCommit(repository, 'HEAD'))
  if (repository === undefined || head === undefined) return undefined
  const { work } = await commitOfFiles({ folder, branch: name }, repository, head)
  const ref = `refs/chirality/orphan/${name}`
  const added = [`update ${ref}/head ${head}`, ...(work === undefined ? [] : [`update ${ref}/work ${work}`])]
  await git(repository, ['update-ref', '--stdin'], { input: `${added.join('\n')}\n` })
  return ref
}

export interface ReceivedWork {
  projectRoot: string
  title: string
  id: string
  work: CarriedWork
  /** The bundle, if the work has one. */
  bundle: string
}

/** Takes the commits into the repository, where a ref keeps them, and makes the record of a worktree to restore. */
export async function takeWork(received: ReceivedWork, folder: string): Promise<Worktree> {
  const { projectRoot, title, id, work } = received
  const { repository, commit, branch: current } = await findBase(projectRoot)
  if (work.hasBundle)
    await git(repository, ['bundle', 'unbundle', path.resolve(received.bundle)], {
      timeoutMs: CHECKOUT_TIMEOUT_MS,
      // Exit code 1: this clone lacks commits that the bundle builds on. The check below reports that.
      okCodes: [0, 1],
    })
  for (const needed of [work.head, work.work])
    if (needed !== undefined && (await resolveCommit(repository, needed)) !== needed)
      throw workspaceError(
        'worktree-refused',
        `The commit ${needed} of the session did not arrive. Run \`git fetch --all\` in ${projectRoot}, then try again.`,
      )
  await setKept(repository, { id }, work)
  const knows = async (name: string) => (await resolveCommit(repository, name)) !== undefined
  const isBranch = work.baseBranch !== null && (await knows(`refs/heads/${work.baseBranch}`))
  const branch = await freeBranch(repository, slugOf(title), id)
  const at = new Date().toISOString()
  return {
    id,
    repository: repository.top,
    prefix: repository.prefix,
    branch,
    createdAt: at,
    folder: path.join(folder, id, path.basename(repository.top)),
    base: (await knows(work.base)) ? work.base : commit,
    baseBranch: isBranch ? work.baseBranch : current,
    state: 'removed',
    kept: {
      head: work.head,
      files: work.files,
      at,
      commits: await countOwnCommits(repository, branch, work.head),
      work: work.work,
    },
  }
}

async function knownCommits(repository: GitRepository, haves: readonly string[]): Promise<string[]> {
  const asked = haves.filter(name => /^[0-9a-f]{40,64}$/.test(name)).slice(0, MAX_HAVES)
  if (asked.length === 0) return []
  const found = await git(repository, ['cat-file', '--batch-check=%(objectname) %(objecttype)'], {
    input: `${asked.join('\n')}\n`,
  })
  return lines(found.toString('utf8')).flatMap(line => /^([0-9a-f]+) commit$/.exec(line)?.[1] ?? [])
}

function lines(output: string): string[] {
  return output.split('\n').filter(Boolean)
}

const MAX_HAVES = 500
const MAX_LIST_BYTES = 64 * 1024 * 1024
