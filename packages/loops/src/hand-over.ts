import { randomUUID } from 'node:crypto'
import type { UIEvent } from '@chirality/core'
import type { LiveSession } from '@chirality/sessions'
import type { JournalEntry, PlanLimit } from './journal.ts'
import type { LoopContext } from './loop-context.ts'
import type { TaskState } from './loop-state.ts'
import { eventsAfter } from './turn-facts.ts'

/**
 * Chooses another agent for a task whose agent reached a limit of its plan, or was handed the task and cannot work
 * (`broken` gives the reason). Undefined without the user's permission or another agent.
 */
export async function handOver(
  loop: LoopContext,
  task: TaskState,
  { harness: from, until }: PlanLimit,
  broken?: string,
): Promise<Extract<JournalEntry, { type: 'task:handed' }> | undefined> {
  const { host, state } = loop
  if (state.settings.hand_over !== true) return undefined
  const known = host.harnessIds()
  const had = new Set([from, ...(task.handed ?? []).map(one => one.from)])
  const names = task.task.nextHarnesses ?? state.settings.next_harnesses ?? (await personasOwn(loop, task))
  const isLimit = `The limit of ${from} is reached${until === undefined ? '' : `, until ${until}`}.`
  const why = broken === undefined ? isLimit : `${from} cannot work: ${broken}`.slice(0, MAX_WHY)
  for (const to of names) {
    if (!known.includes(to) || had.has(to) || limitedUntil(state, to) !== undefined) continue
    // An agent missing here may be installed on the machine that runs the turn.
    if (task.task.where === undefined && !(await host.isReady(to))) continue
    return { type: 'task:handed', task: task.task.id, from, to, sessionId: randomUUID(), why }
  }
  return undefined
}

const MAX_WHY = 1_000

async function personasOwn({ host, state }: LoopContext, { task }: TaskState): Promise<readonly string[]> {
  if (task.persona === undefined) return []
  const chosen = await host.consent.load(state.projectRoot, task.persona)
  return chosen?.persona.nextHarnesses ?? []
}

/** The agent of a task, also before its first turn. */
export async function harnessOf(
  { host, state }: LoopContext,
  { task, harness }: TaskState,
  live: LiveSession,
): Promise<string> {
  const named = live.status.harness ?? harness ?? task.harness
  if (named !== null && named !== undefined) return named
  const chosen = task.persona === undefined ? null : await host.consent.load(state.projectRoot, task.persona)
  return chosen?.persona.harness ?? host.harnessIds()[0] ?? 'none'
}

/** End of an agent's limit that a turn of this run met. */
export function limitedUntil({ limited }: LoopContext['state'], harness: string): string | undefined {
  const until = limited.get(harness)
  return until !== undefined && Date.parse(until) > Date.now() ? until : undefined
}

/**
 * The limit that ended a turn, with the reset time that the agent stated last, since agents report it only when it
 * changes. A past time belongs to an earlier limit and would mean no wait.
 */
export function planLimit(harness: string, live: LiveSession, fromSeq: number): PlanLimit {
  const until = resetTime(eventsAfter(live, fromSeq)) ?? resetTime(eventsAfter(live, 0))
  return until === undefined ? { harness } : { harness, until }
}

function resetTime(events: readonly UIEvent[]): string | undefined {
  const told = events.findLast(event => event.type === 'limits')
  const windows = told?.type === 'limits' ? told.windows : []
  const times = windows.flatMap(({ usedPercent = 0, resetsAt }) =>
    usedPercent >= 100 && resetsAt && Date.parse(resetsAt) > Date.now() ? [resetsAt] : [],
  )
  return times.sort().at(-1)
}
