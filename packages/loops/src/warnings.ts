import type { LoopState } from './loop-state.ts'

/**
 * Warnings to read before anything else about a loop: its files were changed by somebody. `copy` has the files of the
 * project that differ now.
 */
export function warningsOf(state: LoopState, copy: readonly string[] = []): string[] {
  const { broken, altered, copyAltered, changes, isForeign, end } = state
  const claimed = changes.ticked.filter(id => state.tasks.get(id)?.status !== 'merged')
  if (isForeign) return [end?.why ?? '']
  return [
    ...(broken.length === 0
      ? []
      : [
          `Not all of it can be believed, in your data folder: ${broken.join('; ')}. What follows that counts for nothing.`,
        ]),
    ...(altered.length === 0
      ? []
      : [
          `While it ran, somebody changed its own files in your data folder: ${altered.join('; ')}. They were written anew, and what is said here is what the loop itself did. An agent without a cage can do this: look at what it did.`,
        ]),
    ...(state.branchLost === undefined
      ? []
      : [
          `Somebody moved the loop's branch: it does not have ${state.branchLost.slice(0, 10)} any more, where the merged tasks are. The commit is still there: git branch kept ${state.branchLost.slice(0, 10)}`,
        ]),
    ...(claimed.length === 0 ? [] : [`Ticked by somebody, not proved: ${some(claimed)}.`]),
    ...(copyAltered.length === 0
      ? []
      : [
          `While it ran, somebody changed the copy of its files in the project: ${some(copyAltered)}. It was written anew.`,
        ]),
    ...(copy.length === 0
      ? []
      : [`The copy of its files in the project differs from the original, which counts: ${some(copy)}.`]),
  ]
}

function some(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ')
  return names.length > MAX_NAMES ? `${shown} and ${names.length - MAX_NAMES} more` : shown
}

const MAX_NAMES = 10
