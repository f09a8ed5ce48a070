import { rmSync } from 'node:fs'
import type { SessionHost } from '@chirality/sessions'
import type { LoopState } from './loop-state.ts'
import { removeOwnLoop } from './own-loop.ts'

/** Number of loops per project that are always kept. */
export const KEEP_LOOPS = 100

/**
 * The loops to forget, given all loops of a project, newest first: those beyond the first 100 that are finished. A loop
 * with a task that is open, parked, failed, reverted or not accepted stays.
 */
export function oldLoops(loops: readonly LoopState[], keep = KEEP_LOOPS): LoopState[] {
  return loops.slice(keep).filter(isFinished)
}

function isFinished({ end, tasks }: LoopState): boolean {
  if (end?.reason !== 'done') return false
  return [...tasks.values()].every(({ status, accepted }) => status === 'merged' && accepted !== undefined)
}

/** Removes a failed start of which nothing was run: the next server would run it unattended. */
export function takeStartBack(
  host: Pick<SessionHost, 'home' | 'logFault'>,
  loopId: string,
  copy: string | undefined,
): void {
  try {
    // Removed first: without this record no server runs the loop.
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
