import { randomUUID } from 'node:crypto'
import { realpathSync } from 'node:fs'
import type { SessionHost } from '@chirality/sessions'
import { loopError } from './loop-error.ts'
import type { LoopState, TaskState } from './loop-state.ts'
import type { LoopStore } from './loop-store.ts'

/** True if all of the loop is readable and trustworthy. */
export function isWhole({ unreadable, isForeign, broken }: LoopState): boolean {
  return unreadable === undefined && !isForeign && broken.length === 0
}

/** Throws if the host uses another data folder, where the loop's journal would be missing. */
export function requireHome({ home }: Pick<SessionHost, 'home'>, store: LoopStore): void {
  if (home !== store.home)
    throw new Error(`The loops of ${store.projectRoot} are in ${store.home}, and the sessions in ${home}.`)
}

/** True if no task of the loop can continue by itself. */
export function isOver({ end, tasks }: LoopState): boolean {
  if (end?.reason === 'done') return true
  return end?.reason === 'blocked' && ![...tasks.values()].some(({ status }) => status === 'working')
}

/** Throws unless a person may resume the task. */
export function requireAgain(state: LoopState, id: string): void {
  const { status } = state.tasks.get(id) ?? {}
  if (status === 'parked' || status === 'failed' || status === 'reverted') return
  throw loopError('loop-refused', `${id} is no parked, failed or reverted task of the loop ${state.loopId}.`)
}

export function requireMerged(state: LoopState, id: string): TaskState {
  const task = state.tasks.get(id)
  if (task?.status === 'merged') return task
  throw loopError('loop-refused', `${id} is no proved task of the loop ${state.loopId}.`)
}

export function realList(file: string): string {
  try {
    return realpathSync(file)
  } catch (error) {
    throw loopError('bad-list', `There is no task list ${file}.`, error)
  }
}

/** Ids for a session and a worktree of a task. */
export function newNames(
  { loopId }: Pick<LoopState, 'loopId'>,
  task: string,
): { sessionId: string; worktreeId: string } {
  const worktreeId = `${loopId}-${task}`.slice(0, 55).replace(/-+$/, '')
  return { sessionId: randomUUID(), worktreeId: `${worktreeId}-${randomUUID().slice(0, 6)}` }
}
