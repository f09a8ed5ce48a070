import {
  conditionOf,
  type PermissionRequestEvent,
  type SessionCondition,
  type TurnEndReason,
} from '@chirality/core'
import type { LoopTaskState, SessionStatus } from '../../state/server/answers.ts'
import type { DotTone } from '../../ui/marks/Dot.tsx'
import { formatAge } from '../../ui/text/format.ts'
import { decisionLine } from '../../words/decision.logic.ts'
import { requestArgument } from '../../words/tool-summary.logic.ts'

export type GroupName = 'Needs you' | 'Pinned' | 'Working' | 'Stopped' | 'At rest' | 'Done'

export interface SessionGroup {
  name: GroupName
  sessions: readonly SessionStatus[]
}

const ORDER: readonly GroupName[] = ['Needs you', 'Pinned', 'Working', 'Stopped', 'At rest', 'Done']

/** Without what was archived and rests: one that works or waits again is in the lists again. */
export function unarchived(statuses: readonly SessionStatus[]): readonly SessionStatus[] {
  return statuses.filter(status => !isArchived(status))
}

export function isArchived(status: SessionStatus): boolean {
  return status.shelf === 'archived' && !['Needs you', 'Working'].includes(groupOf(status))
}

/**
 * What matters first: who waits for me, who works, who could, who is through. Empty groups are left out. With `pins`
 * the pinned ones stand together, unless they wait.
 */
export function groupSessions(
  statuses: readonly SessionStatus[],
  { pins = false }: { pins?: boolean } = {},
): SessionGroup[] {
  const groups = new Map<GroupName, SessionStatus[]>(ORDER.map(name => [name, []]))
  for (const status of statuses) {
    const group = groupOf(status)
    groups.get(pins && status.shelf === 'pinned' && group !== 'Needs you' ? 'Pinned' : group)?.push(status)
  }
  return ORDER.flatMap(name => {
    const sessions = groups.get(name) ?? []
    return sessions.length > 0 ? [{ name, sessions: sessions.sort(byTime) }] : []
  })
}

/** The next session of the list, or the one before; from elsewhere the first or the last. Undefined at its ends. */
export function sessionBeside(
  statuses: readonly SessionStatus[],
  sessionId: string | undefined,
  step: 1 | -1,
): string | undefined {
  const order = groupSessions(unarchived(statuses), { pins: true }).flatMap(({ sessions }) =>
    sessions.map(one => one.sessionId),
  )
  const at = sessionId === undefined ? -1 : order.indexOf(sessionId)
  if (at < 0) return order.at(step === 1 ? 0 : -1)
  return order[at + step]
}

export function groupOf(status: SessionStatus): Exclude<GroupName, 'Pinned'> {
  const { pending, queueHeld, queue, machine } = status
  // Nobody can answer it now, and nobody knows whether it works.
  if (machine?.state === 'away' && (status.phase !== 'idle' || pending.length > 0)) return 'At rest'
  if (pending.length > 0 || (queueHeld && queue.length > 0)) return 'Needs you'
  // A turn that was asked to stop rests; one that had to be ended by force may have left things half done.
  if (status.phase === 'idle' && status.lastTurn === 'killed' && !status.leftUnanswered) return 'Stopped'
  if (status.task !== undefined && status.phase === 'idle') return taskGroup(status.task)
  return GROUPS[conditionOf(status)]
}

/** Group by the checks of the loop, whatever the last turn of the agent says. */
function taskGroup({ status, isLoopAtWork }: LoopTaskState): Exclude<GroupName, 'Pinned'> {
  if (status === 'parked') return 'Needs you'
  if (status === 'failed') return 'Stopped'
  return isLoopAtWork ? 'Working' : 'At rest'
}

const GROUPS: Readonly<Record<SessionCondition, Exclude<GroupName, 'Pinned'>>> = {
  new: 'At rest',
  running: 'Working',
  waiting: 'Needs you',
  unanswered: 'Needs you',
  done: 'Done',
  stopped: 'At rest',
  limit: 'Stopped',
  failed: 'Stopped',
  crashed: 'Stopped',
}

/** How many sessions and tasks wait for a person: the number in the bar is the number in the list. */
export function countNeedsYou(
  statuses: readonly SessionStatus[],
  parked: readonly LoopTaskState[] = [],
): number {
  return statuses.filter(status => groupOf(status) === 'Needs you').length + parked.length
}

/** A session that came to rest since somebody last looked. One that works or waits says so itself. */
export function isNews(status: SessionStatus, seenSeq: number): boolean {
  const rests = status.phase === 'idle' && status.lastTurn !== null
  return rests && status.lastSeq > seenSeq
}

export function toneOf(status: SessionStatus): DotTone {
  switch (groupOf(status)) {
    case 'Needs you':
      return 'need'
    case 'Working':
      return 'work'
    case 'At rest':
      return 'quiet'
    case 'Stopped':
      return 'bad'
    case 'Done':
      return 'ok'
  }
}

const ENDS: Readonly<Record<TurnEndReason, string>> = {
  completed: 'done',
  interrupted: 'stopped',
  failed: 'failed',
  killed: 'ended by force',
  crashed: 'crashed',
  timeout: 'took too long',
  max_turns: 'step limit reached',
  budget: 'budget reached',
}

/** The second line: what it wants, does, or how it ended. */
export function statusLine(status: SessionStatus, now: number): string {
  if (status.machine?.state === 'away' && status.phase !== 'idle')
    return `${status.machine.name} is away · ${formatAge(status.updatedAt, now)}`
  const request = dangerousRequest(status) ?? status.pending[0]
  if (request) return decisionLine(request, requestArgument(request, status.projectRoot))
  if (status.queueHeld && status.queue.length > 0) return 'queued messages wait, go on?'
  if (status.phase === 'starting') return 'starting'
  if (status.phase === 'ending') return 'ending'
  const line = status.lastLine && plainLine(status.lastLine)
  if (status.phase !== 'idle') return line || 'working'
  if (status.lastTurn === null) return 'not started'
  const age = formatAge(status.updatedAt, now)
  if (status.task) return `${taskLine(status.task)} · ${age}`
  if (status.leftUnanswered)
    return `${status.lastTurn === 'completed' ? 'went on' : 'stopped'} without your answer · ${age}`
  const how = ENDS[status.lastTurn]
  if (status.lastTurn !== 'completed') return `${how} · ${age}`
  return line && status.title ? `${age} · ${line}` : `${how} · ${age}`
}

/** How a task of a loop stands, in one line. */
export function taskLine({ status, why, isLoopAtWork }: LoopTaskState): string {
  const words = why === null ? '' : `: ${plainLine(why.split('\n', 1)[0] ?? '')}`
  if (status === 'parked') return `task waits for you${words}`
  if (status === 'failed') return `task failed${words}`
  return isLoopAtWork ? 'task is being checked' : 'task is not proved'
}

/** The first request that needs a second look: its line is red. */
export function dangerousRequest({ pending }: SessionStatus): PermissionRequestEvent | undefined {
  return pending.find(({ risks }) => risks !== undefined && risks.length > 0)
}

/** A line of Markdown without its marks. */
function plainLine(line: string): string {
  return line.replace(/^(?:[#>]+|[-*])\s+/, '').replace(/`+|\*\*/g, '')
}

/** Every word must be somewhere in it. */
export function matches(status: SessionStatus, text: string): boolean {
  const { title, lastLine, projectRoot, persona, model, machine } = status
  const hay = [title, lastLine, projectRoot, persona, model, machine?.name].join(' ').toLowerCase()
  return text
    .toLowerCase()
    .split(/\s+/)
    .every(word => hay.includes(word))
}

function byTime(a: SessionStatus, b: SessionStatus): number {
  return a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0
}
