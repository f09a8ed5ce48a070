import { rmSync } from 'node:fs'
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

/** Of a start that failed, and of which nothing has run: the next server would run it with nobody there. */
export function takeStartBack(
  host: Pick<SessionHost, 'home' | 'logFault'>,
  loopId: string,
  copy: string | undefined,
): void {
  try {
    // First: a loop that is not the user's is run by nobody.
    removeOwnLoop(host.home, loopId)
  } catch (error) {
    host.logFault(error)
  }
  try {
    if (copy !== undefined) rmSync(copy, { recursive: true, force: true })
  } catch (error) {
    host.logFault(error)
  }
}
