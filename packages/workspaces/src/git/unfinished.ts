import { lstat } from 'node:fs/promises'
import path from 'node:path'
import { type GitRepository, git } from './git.ts'

/** Names of operations that git started and did not finish in a work tree. */
export type Unfinished = (typeof STATES)[number]['name']

/** Operations by the file in git's folder that exists while they last. */
const STATES = [
  { file: 'MERGE_HEAD', name: 'merge' },
  { file: 'rebase-merge', name: 'rebase' },
  // Both files exist while patches from mails are applied.
  { file: 'rebase-apply/applying', name: 'git am' },
  { file: 'rebase-apply', name: 'rebase' },
  { file: 'CHERRY_PICK_HEAD', name: 'cherry-pick' },
  { file: 'REVERT_HEAD', name: 'revert' },
] as const

export const UNFINISHED = STATES.map(({ name }) => name)

export async function unfinishedIn(
  repository: Pick<GitRepository, 'top' | 'overrides'>,
): Promise<Unfinished | undefined> {
  const folder = (await git(repository, ['rev-parse', '--absolute-git-dir'])).toString('utf8')
  for (const { file, name } of STATES) {
    const found = await lstat(path.join(folder.replace(/\n$/, ''), file)).catch(() => undefined)
    if (found !== undefined) return name
  }
  return undefined
}
