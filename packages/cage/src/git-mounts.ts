import { existsSync } from 'node:fs'
import { lstat, mkdir, readdir, realpath } from 'node:fs/promises'
import path from 'node:path'
import { readTextCarefully } from '@chirality/disk'
import type { CageMount } from './cage-plan.ts'

/**
 * The mounts that git needs to commit in the folder: its repository is writable, but nothing in it that git runs for somebody else
 * later (hooks, config, attributes), and no other worktree. Nothing for a folder without a repository, and for one in a
 * repository that `isUnsuitable` or that somebody else owns: all of it can be read inside.
 */
export async function gitMounts(
  folder: string,
  isUnsuitable: (top: string) => boolean,
): Promise<CageMount[]> {
  const top = repositoryTop(folder)
  if (top === undefined || isUnsuitable(top)) return []
  if (process.getuid !== undefined && (await lstat(top)).uid !== process.getuid()) return []
  const entry = path.join(top, '.git')
  const around: CageMount[] = top === folder ? [] : [{ kind: 'read', from: top, at: top }]
  const info = await lstat(entry)
  if (info.isDirectory()) return [...around, ...(await repositoryMounts(entry))]
  const worktree = info.isFile() ? await worktreeOf(entry, top) : undefined
  if (worktree === undefined) return around
  return [
    ...around,
    ...(await repositoryMounts(worktree.repository)),
    ...readOnly(path.join(worktree.repository, 'worktrees')),
    { kind: 'write', from: worktree.own, at: worktree.own },
    ...readOnly(path.join(worktree.own, 'config.worktree')),
    { kind: 'read', from: entry, at: entry },
  ]
}

function repositoryTop(folder: string): string | undefined {
  for (let at = folder; ; at = path.dirname(at)) {
    if (existsSync(path.join(at, '.git'))) return at
    if (at === path.dirname(at)) return undefined
  }
}

/** A mount of its own, so that the folder cannot be moved away and replaced. */
async function repositoryMounts(repository: string): Promise<CageMount[]> {
  // A mount needs its place; git makes the same folder in every new repository.
  await mkdir(path.join(repository, 'hooks'), { recursive: true })
  const guarded = ['config', 'config.worktree', 'hooks', 'info', 'modules']
  return [
    { kind: 'write', from: repository, at: repository },
    ...guarded.flatMap(name => readOnly(path.join(repository, name))),
  ]
}

function readOnly(file: string): CageMount[] {
  return existsSync(file) ? [{ kind: 'read', from: file, at: file }] : []
}

/** The repository that a worktree's `.git` file names, if it names this worktree, too: a file alone could name anything. */
async function worktreeOf(
  file: string,
  top: string,
): Promise<{ own: string; repository: string } | undefined> {
  const own = /^gitdir: (.+)$/m.exec(await smallText(file))?.[1]?.trim()
  if (own === undefined) return undefined
  const folder = await realpath(path.resolve(top, own)).catch(() => undefined)
  if (folder === undefined || path.basename(path.dirname(folder)) !== 'worktrees') return undefined
  const back = (await smallText(path.join(folder, 'gitdir'))).trim()
  if (back === '' || (await realpath(path.resolve(folder, back)).catch(() => '')) !== file) return undefined
  return { own: folder, repository: path.dirname(path.dirname(folder)) }
}

async function smallText(file: string): Promise<string> {
  const read = await readTextCarefully({
    root: path.dirname(file),
    path: path.basename(file),
    links: 'none',
    maxBytes: 4096,
  })
  return read === undefined || 'fault' in read ? '' : read.text
}

/** The names in a folder, none if it cannot be read. */
export async function entriesOf(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}
