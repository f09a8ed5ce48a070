import type { LoopState } from '../loop-state.ts'

/** Times at which this process ran commands in the worktree of the loop's branch: files of then are their output. */
export interface BranchTimes {
  /** Number of commands that run now. */
  running: number
  /** When the last one ended, in milliseconds. Undefined before the first. */
  ended?: number
  /** When it was set up for the last time. */
  setUp: number
}

export function branchTimes(state: LoopState): BranchTimes {
  const known = times.get(state)
  if (known !== undefined) return known
  const made: BranchTimes = { running: 0, setUp: 0 }
  times.set(state, made)
  return made
}

const times = new WeakMap<LoopState, BranchTimes>()

/** Runs a command there. */
export async function during<T>(state: LoopState, work: () => Promise<T>): Promise<T> {
  const known = branchTimes(state)
  known.running += 1
  try {
    return await work()
  } finally {
    known.running -= 1
    known.ended = Date.now()
  }
}
