import {
  editsOf,
  type FileEdit,
  factsOf,
  isUndone,
  type PermissionRequestEvent,
  type ToolItem,
} from '@chirality/core'
import { diffTexts, type FileDiff, fileDiff, wholeFile } from './file-diff.ts'

const cache = new WeakMap<ToolItem, readonly FileDiff[]>()

/** File changes of a call, by its result or, before that, by its input. Empty for a call that edits nothing. */
export function toolEdits(tool: ToolItem): readonly FileDiff[] {
  const known = cache.get(tool)
  if (known) return known
  const edits = editsOf(tool).flatMap(edit => diffOf(edit) ?? [])
  cache.set(tool, edits)
  return edits
}

/** File changes that a waiting request would make, as far as it tells. */
export function askedEdits(request: PermissionRequestEvent): FileDiff[] {
  return (factsOf(request).edits ?? []).flatMap(edit => diffOf(edit) ?? [])
}

/**
 * An edit held against the file as it is: with its real line numbers, the lines around, and what a file that is written anew
 * loses. Undefined where it does not fit the file, and for one that has its line numbers already.
 */
export function placedEdit({ path, change, text, swaps }: FileEdit, file: string): FileDiff | undefined {
  if (text !== undefined && change === 'add') return diffTexts(path, file, text)
  if (swaps === undefined) return undefined
  let after = file
  for (const swap of swaps) {
    const at = swap.before === '' ? -1 : after.indexOf(swap.before)
    if (at < 0) return undefined
    after = swap.all
      ? after.split(swap.before).join(swap.after)
      : after.slice(0, at) + swap.after + after.slice(at + swap.before.length)
  }
  return diffTexts(path, file, after)
}

/** The files that a call edits, without the work of comparing anything. None of one that was denied or failed. */
export function editedPaths(tool: ToolItem): string[] {
  if (isUndone(tool)) return []
  return editsOf(tool).flatMap(({ path, movedTo }) => (movedTo === undefined ? [path] : [path, movedTo]))
}

/** Undefined where the agent names the file and not what changes in it. */
function diffOf({ path, change, movedTo, hunks, text, swaps }: FileEdit): FileDiff | undefined {
  const shown = movedTo ?? path
  if (hunks !== undefined) return fileDiff(shown, change, hunks)
  if (text !== undefined && change !== 'update') return wholeFile(shown, change, text)
  if (swaps === undefined) return undefined
  const placeless = swaps.flatMap(({ before, after }) => diffTexts(shown, before, after).hunks)
  return { ...fileDiff(shown, 'update', placeless), unplaced: true }
}
