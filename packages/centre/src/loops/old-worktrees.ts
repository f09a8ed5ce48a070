import type { ScheduleState } from '@chirality/loops'
import type { SessionHost } from '@chirality/sessions'
import type { ShownTask } from '../shapes/loops.ts'
import type { ProjectLoops } from './project-loops.ts'

interface OldWorktreesOptions {
  host: Pick<SessionHost, 'worktrees' | 'store' | 'removeWorktree'>
  loops: Pick<ProjectLoops, 'get'>
  onFault: (error: unknown) => void
  /** No other one is begun then. */
  isClosed: () => boolean
}

/**
 * Removes the worktrees of all runs of a schedule but the last ones that it keeps: only what is clean, so nothing is lost
 * but files that git ignores, and not that of a session that a person went on with, or of a loop that can go on.
 */
export async function removeOldWorktrees(state: ScheduleState, options: OldWorktreesOptions): Promise<void> {
  const { host, onFault, isClosed } = options
  const { what } = state.schedule
  const old = what.kind === 'loop' ? await ofLoops(state, options) : await ofPrompts(state, options)
  for (const id of old) {
    if (isClosed()) return
    try {
      const isThere = (await host.worktrees.find(id)) !== undefined
      if (isThere && (await host.worktrees.isClean(id))) await host.removeWorktree(id)
    } catch (error) {
      // One that cannot be looked at, or holds another repository, does not keep the others.
      onFault(error)
    }
  }
}

async function ofPrompts(
  { schedule, runs }: ScheduleState,
  { host }: OldWorktreesOptions,
): Promise<string[]> {
  const { id, project, keepRuns } = schedule
  const isKept = (run: (typeof runs)[number], at: number) => at < keepRuns || run.receipt === null
  const kept = new Set(runs.filter(isKept).map(({ worktreeId }) => worktreeId))
  // Those of runs that the journal has no more, too.
  const own = (await host.worktrees.list()).filter(
    worktree => worktree.condition === 'ready' && isOfRun(worktree.id, id) && !kept.has(worktree.id),
  )
  if (own.length === 0) return []
  const { sessions } = await host.store.page({ projectRoot: project, limit: Number.POSITIVE_INFINITY })
  const goneOn = new Set(sessions.flatMap(({ worktree, turnCount }) => (turnCount > 1 ? [worktree] : [])))
  return own.flatMap(worktree => (goneOn.has(worktree.id) ? [] : [worktree.id]))
}

/**
 * A loop removes the worktree of a task itself when the task is merged: what is left is that of its branch, and those
 * that a person restored, or ticked the box of. These are theirs.
 */
async function ofLoops({ schedule, runs }: ScheduleState, { loops }: OldWorktreesOptions): Promise<string[]> {
  const kept = new Set(runs.slice(0, schedule.keepRuns).map(({ loopId }) => loopId))
  const old = new Set(runs.slice(schedule.keepRuns).flatMap(({ loopId }) => loopId ?? []))
  const found: string[] = []
  for (const loopId of old) {
    // Its project was removed, or its folder is gone.
    const loop = kept.has(loopId) ? undefined : await loops.get(loopId).catch(() => undefined)
    if (loop?.runs !== 'no' || loop.end?.reason !== 'done') continue
    if (!loop.tasks.some(({ status }) => CAN_GO_ON.has(status))) found.push(`loop-${loopId}`)
  }
  return found
}

const CAN_GO_ON = new Set<ShownTask['status']>(['working', 'parked', 'failed', 'reverted'])

/** The name that `ScheduleBook.claim()` gives the worktree of a run. */
function isOfRun(worktreeId: string, scheduleId: string): boolean {
  const prefix = `${scheduleId.slice(0, 40)}-`
  return worktreeId.startsWith(prefix) && /^[0-9a-f]{8}$/.test(worktreeId.slice(prefix.length))
}
