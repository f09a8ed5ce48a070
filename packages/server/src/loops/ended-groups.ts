import { type AwayTurns, isAtRest } from '@chirality/loops'
import type { LoopBooks } from './loop-books.ts'

/** The fleet forgets loops that ended when the server before was killed, and those whose files were removed. */
export async function endGroups(
  away: Pick<AwayTurns, 'groups' | 'end'> | undefined,
  books: LoopBooks,
  isRunning: (loopId: string) => boolean,
): Promise<void> {
  for (const { group, project } of away?.groups() ?? []) {
    // The disk of a project may be away.
    const book = books.find(project)
    if (book === undefined || isRunning(group)) continue
    const state = book.find(group)
    if (state === undefined || isAtRest(state)) await away?.end(group)
  }
}
