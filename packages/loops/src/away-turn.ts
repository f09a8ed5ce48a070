import type { PermissionRequestEvent } from '@chirality/core'
import { type AwayEnd, type AwayTurns, isSuspended, type LoopContext } from './loop-context.ts'
import { loopError } from './loop-error.ts'
import type { LoopState, TaskState } from './loop-state.ts'
import { eventsAfter, turnPermissions } from './turn-facts.ts'
import { readTurnPrompt } from './turn-files.ts'

export type TurnedAway =
  /** The session is here. Its log has the turn if it started; otherwise this machine starts it. */
  | { kind: 'here'; asked?: PermissionRequestEvent }
  | { kind: 'stopped' }
  /** The machine is gone: the task starts again in a new session and worktree. */
  | { kind: 'anew' }

/** Lets a machine of the fleet run the turn that the journal has as started, if the task is for one. */
export async function turnAway(loop: LoopContext, task: TaskState): Promise<TurnedAway> {
  const { away, host, signal } = loop
  const { where } = task.task
  if (where === undefined || task.stage.at !== 'turn') return { kind: 'here' }
  if (away === undefined) throw noFleet()
  const { fromSeq } = task.stage
  const { sessionId } = task
  const isHere = async () => (await host.store.get(sessionId)) !== undefined
  const hasBegun = async () =>
    eventsAfter(await host.session(sessionId), fromSeq).some(({ type }) => type === 'turn:start')
  if ((await isHere()) && away.machineOf(sessionId) === undefined && (await hasBegun())) {
    // A killed process brought the session back and did not record where its files are.
    await takeWorktree(loop, task)
    for (let name = 1; name <= MAX_NAMES; name += 1) {
      const closed = await away.close(workId(loop, task, name), () => signal.aborted)
      if (closed === 'left') return { kind: 'stopped' }
      if (closed === 'none') break
    }
    return { kind: 'here' }
  }
  for (let name = 1; name <= MAX_NAMES; name += 1) {
    const { end, asked } = await runAway(loop, task, { away, where, fromSeq, name })
    if (end.kind === 'left') return { kind: 'stopped' }
    if (end.kind === 'lost') return lost(loop, task, end.why)
    // A killed process gave the turn up and did not record it.
    if (!(await isHere())) return lost(loop, task, 'Its session is on a machine that is gone')
    await takeWorktree(loop, task)
    if (end.kind === 'refused') throw loopError('loop-refused', `${end.machine}: ${end.why}`)
    if (end.kind === 'here') return { kind: 'here' }
    if (await hasBegun()) return { kind: 'here', asked }
    // The turn was stopped or refused before its agent started, or a machine falsely reports a finished turn.
    if (signal.aborted) return { kind: 'stopped' }
  }
  throw loopError(
    'loop-refused',
    'The machines of the fleet report this turn as over, and none of them ran it.',
  )
}

function lost(loop: LoopContext, { task, sessionId, iterations: n }: TaskState, why: string) {
  const { record, names, state, away } = loop
  const spent = away?.spentOn(sessionId)
  // Work that the gone machine still has is refused when it returns.
  record({
    type: 'task:lost',
    task: task.id,
    n,
    why,
    fresh: { ...names(task.id), base: state.head },
    spent,
  })
  return { kind: 'anew' } as const
}

function workId({ state }: LoopContext, { task, sessionId, iterations: n }: TaskState, name: number): string {
  return `${state.loopId}-${task.id}-${n}-${sessionId.slice(0, 8)}${name === 1 ? '' : `-${name}`}`
}

/**
 * Runs the turn as one piece of work of the fleet. Finished work keeps its name, so a turn that was not run gets the
 * next name.
 */
async function runAway(
  loop: LoopContext,
  task: TaskState,
  {
    away,
    where,
    fromSeq,
    name,
  }: { away: AwayTurns; where: readonly string[]; fromSeq: number; name: number },
): Promise<{ end: AwayEnd; asked: PermissionRequestEvent | undefined }> {
  const { host, state, signal, record } = loop
  const { sessionId, iterations: n } = task
  const known = await host.store.get(sessionId)
  const { setup, iteration_minutes, check_minutes, answer_minutes } = state.settings
  const { usd, tokens } = loop.rest()
  let asked: PermissionRequestEvent | undefined
  let pending: { id: string; since: number } | undefined
  const end = await away.run({
    id: workId(loop, task, name),
    group: state.loopId,
    sessionId,
    agent: task.harness ?? task.task.harness ?? known?.harness ?? undefined,
    labels: where,
    signal,
    project: state.projectRoot,
    order: {
      fromSeq,
      message: await readTurnPrompt(loop, task),
      request: {
        ...turnPermissions(task),
        maxBudgetUsd: usd,
        maxBudgetTokens: tokens,
        timeoutMs: iteration_minutes * MINUTE_MS,
        unattended: true,
      },
      setup,
      setupMs: check_minutes * MINUTE_MS,
    },
    // A server that stops leaves agents on other machines running; the next server continues with them.
    isLeft: () => isSuspended(signal),
    onPlaced: (machine, why) => record({ type: 'task:placed', task: task.task.id, n, machine, why }),
    onWaits: why => record({ type: 'task:waits', task: task.task.id, n, why }),
    onPending: request => {
      if (request?.requestId !== pending?.id)
        pending = request && { id: request.requestId, since: Date.now() }
      if (request === undefined || pending === undefined) return false
      if (Date.now() - pending.since < answer_minutes * MINUTE_MS) return false
      asked = request
      return true
    },
  })
  return { end, asked }
}

/** True if a loop has ended and no machine works for it. It may be resumed later. */
export function isAtRest({ end, tasks }: LoopState): boolean {
  const isAway = ({ status, task: { where } }: TaskState) => status === 'working' && where !== undefined
  return end !== undefined && ![...tasks.values()].some(isAway)
}

/** Records the worktree in which the session returned, with all files of the earlier one. */
async function takeWorktree({ host, record }: LoopContext, task: TaskState): Promise<void> {
  const { worktree } = await host.store.resume(task.sessionId)
  const { worktreeId: before } = task
  if (worktree === null || worktree === before) return
  const [now, then] = await Promise.all([worktree, before].map(id => host.worktrees.find(id)))
  // The other machine names the repository, and this one may have two clones of it.
  if (now === undefined || (then !== undefined && now.repository !== then.repository))
    throw loopError(
      'loop-refused',
      `The session came back into ${now?.folder ?? 'no worktree'}, which is no worktree of the loop's repository. Nothing of it was taken.`,
    )
  record({ type: 'task:returned', task: task.task.id, worktreeId: worktree })
  if ((await host.worktrees.find(before))?.state === 'ready') await host.worktrees.remove(before)
}

export function noFleet() {
  return loopError(
    'loop-refused',
    'Tasks with the key "where" run on the machines of a fleet, and this is no hub of one. Start a hub with `chirality serve --fleet URL`, or leave the key out.',
  )
}

const MINUTE_MS = 60_000
const MAX_NAMES = 10
