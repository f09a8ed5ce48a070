import { existsSync } from 'node:fs'
import path from 'node:path'
import { type AwayTurns, isAtRest, readOwnLoop } from '@chirality/loops'
import type { LoopBooks } from './loop-books.ts'

/** The fleet forgets loops that ended when the server before was killed, and those whose files were removed. */
export async function endGroups(
  { away, host }: { away?: Pick<AwayTurns, 'groups' | 'end'>; host: { home: string } },
  books: LoopBooks,
  isRunning: (loopId: string) => boolean,
): Promise<void> {
  for (const { group, project } of away?.groups() ?? []) {
    if (isRunning(group)) continue
    const own = readOwnLoop(host.home, group)
    const root = project ?? own?.project
    // Nobody knows the loop any more, so nobody can go on with it.
    if (root === undefined) {
      await away?.end(group)
      continue
    }
    // The disk of a project may be away.
    const book = books.find(root)
    if (book === undefined) continue
    const state = await book.find(group)
    // It may have tasks that a machine is at work for.
    if (state?.unreadable !== undefined || (state?.broken ?? []).length > 0) continue
    // Of such a disk the empty mount point may be there: only a project in which loops are kept says that one was removed.
    const isRemoved = own === undefined || existsSync(path.join(root, '.chirality'))
    if (state === undefined ? isRemoved : isAtRest(state)) await away?.end(group)
  }
}
