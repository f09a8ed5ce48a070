import { MARKER_VARIABLE } from '@chirality/runner'
import { type GitRepository, git } from '../git/git.ts'

/** Scopes of started and unfinished moves, in all work trees of a repository. */
export async function unfinishedMoves(repository: GitRepository): Promise<string[]> {
  const listed = await git(repository, ['for-each-ref', '--format=%(refname)', MOVING])
  return listed
    .toString('utf8')
    .split('\n')
    .flatMap(ref => (ref.startsWith(MOVING) ? [ref.slice(MOVING.length)] : []))
}

export const MOVING = 'refs/chirality/moving/'

/** Marks the git processes of a move, so that `recover()` finds and awaits one that outlives its server. */
export function forScope(repository: GitRepository, scope: string): GitRepository {
  return { ...repository, env: { ...repository.env, [MARKER_VARIABLE]: moveMarker(scope) } }
}

export function moveMarker(scope: string): string {
  return `moving-${scope}`
}
