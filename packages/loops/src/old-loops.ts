import { readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import type { SessionHost } from '@chirality/sessions'
import type { LoopState } from './loop-state.ts'
import { removeOwnLoop } from './own-loop.ts'

/** So many loops of a project are kept in any case. */
export const KEEP_LOOPS = 100

/**
 * The loops that are forgotten, of all loops of a project, newest first: those after the first 100 with which nothing
 * can be done any more. One with a task that is open, parked, failed or reverted, or that a person did not accept, stays.
 */
export function oldLoops(loops: readonly LoopState[], keep = KEEP_LOOPS): LoopState[] {
  return loops.slice(keep).filter(isFinished)
}

function isFinished({ end, tasks }: LoopState): boolean {
  if (end?.reason !== 'done') return false
  return [...tasks.values()].every(({ status, accepted }) => status === 'merged' && accepted !== undefined)
}

/** The journal goes last: a process that is killed meanwhile leaves a loop that the next one finds, and forgets. */
export function removeLoopFolder(folder: string): void {
  for (const name of readdirSync(folder))
    if (name !== 'journal.ndjson') rmSync(path.join(folder, name), { recursive: true, force: true })
  rmSync(folder, { recursive: true, force: true })
}

/** Of a start that failed, and of which nothing has run: the next server would run it with nobody there. */
export function takeStartBack(
  host: Pick<SessionHost, 'home' | 'logFault'>,
  loopId: string,
  folder: string | undefined,
): void {
  try {
    // First: a loop that is not the user's is run by nobody.
    removeOwnLoop(host.home, loopId)
  } catch (error) {
    host.logFault(error)
  }
  try {
    if (folder !== undefined) removeLoopFolder(folder)
  } catch (error) {
    host.logFault(error)
  }
}
