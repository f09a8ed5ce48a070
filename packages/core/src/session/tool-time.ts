import type { ToolFacts } from '../events/tool-facts.ts'
import type {
  Envelope,
  PermissionRequestEvent,
  PermissionResolvedEvent,
  StatusEvent,
  ToolResultEvent,
} from '../events/ui-event.ts'
import type { SessionDraft } from './draft.ts'
import type { ToolItem, ToolWait } from './state.ts'

/**
 * The duration of the tool itself: from the time when its call was complete and no request was pending. The time a
 * person takes to decide does not count. Null for a denied call, which never ran, and for one that only started a
 * background task, whose end reports the duration.
 */
export function toolDuration(item: ToolItem, event: ToolResultEvent, at: string): number | null {
  const { wait, decided } = item
  if (decided && decided.outcome !== 'allowed' && event.isError) return null
  if (wait?.background) return null
  const own = statedDuration(event.detail)
  if (own !== undefined) return own
  const waited = (wait?.waitedMs ?? 0) + (wait?.askedAt ? between(wait.askedAt, at) : 0)
  return Math.max(0, between(wait?.from ?? item.at, at) - waited)
}

/** The tool does not run while the model still writes the call. */
export function callComplete(item: ToolItem, at: string): ToolItem {
  return { ...item, wait: { ...waitOf(item), from: at } }
}

/**
 * The call waits from now on, and with it the call of its sub-agent. Before its first request the call did not run
 * either: it was queued behind another.
 */
export function beginWait(draft: SessionDraft, envelope: Envelope, event: PermissionRequestEvent): void {
  for (const id of waitingTools(event)) {
    draft.updateItem('tool', id, item => {
      const wait = waitOf(item)
      const isFirst = id === event.toolUseId && wait.askedAt === null && wait.waitedMs === 0
      const from = isFirst ? envelope.at : wait.from
      return { ...item, wait: { ...wait, from, askedAt: wait.askedAt ?? envelope.at } }
    })
  }
}

export function endWait(draft: SessionDraft, envelope: Envelope, event: PermissionResolvedEvent): void {
  const request = draft.state.pending.find(({ requestId }) => requestId === event.requestId)
  if (!request) return
  const others = draft.state.pending.filter(other => other !== request).flatMap(waitingTools)
  for (const id of waitingTools(request)) {
    draft.updateItem('tool', id, before => {
      const item = id === request.toolUseId ? decidedCall(before, event) : before
      const wait = waitOf(item)
      if (wait.askedAt === null || others.includes(id)) return { ...item, wait }
      const waitedMs = wait.waitedMs + between(wait.askedAt, envelope.at)
      return { ...item, wait: { ...wait, askedAt: null, waitedMs } }
    })
  }
}

/** The call with its answer, and with the input that ran if that is another. */
function decidedCall(item: ToolItem, event: PermissionResolvedEvent): ToolItem {
  const { outcome, by, rule, message, updatedInput } = event
  const why = { ...(rule === undefined ? {} : { rule }), ...(message === undefined ? {} : { message }) }
  const decided = { outcome, by, ...why }
  if (updatedInput === undefined) return { ...item, decided }
  const { input, facts, asked = { input, ...factsIn(facts) }, ...rest } = item
  return { ...rest, decided, input: updatedInput, ...factsIn(event.facts), asked }
}

function factsIn(facts: ToolFacts | undefined): { facts?: ToolFacts } {
  return facts === undefined ? {} : { facts }
}

/** A call that a rule or the mode of its agent refused, without a request. */
export function seeDenial(draft: SessionDraft, event: StatusEvent): void {
  const { toolUseId, data, message } = event
  if (event.status !== 'permission_denied' || toolUseId === undefined) return
  const why = typeof data?.detail === 'string' ? data.detail : message
  draft.updateItem('tool', toolUseId, item =>
    item.decided === undefined || item.decided.outcome === 'allowed'
      ? { ...item, decided: { outcome: 'denied', by: 'policy', message: why } }
      : item,
  )
}

/** A background task has its own end, long after the result that reports its start. */
export function seeTask(draft: SessionDraft, envelope: Envelope, event: StatusEvent): void {
  const { toolUseId, data } = event
  if (event.status !== 'task' || toolUseId === undefined) return
  const isOver = typeof data?.status === 'string' && !LIVE_TASKS.has(data.status)
  draft.updateItem('tool', toolUseId, item => {
    if (data?.background === true && !isOver) return { ...item, wait: { ...waitOf(item), background: true } }
    const { wait } = item
    if (!isOver || !wait?.background || item.endedAt === null || item.durationMs !== null) return item
    return { ...item, durationMs: Math.max(0, between(wait.from, envelope.at) - wait.waitedMs) }
  })
}

const LIVE_TASKS: ReadonlySet<string> = new Set(['pending', 'running', 'paused', 'changed'])

function waitingTools({ toolUseId, parentToolUseId }: PermissionRequestEvent): string[] {
  return [toolUseId, parentToolUseId].filter(id => id !== undefined)
}

function waitOf({ at, wait }: ToolItem): ToolWait {
  return wait ?? { from: at, askedAt: null, waitedMs: 0 }
}

/** Agents that measure a call report it in `durationMs`. */
function statedDuration(detail: unknown): number | undefined {
  if (typeof detail !== 'object' || detail === null || !('durationMs' in detail)) return undefined
  const { durationMs } = detail
  return typeof durationMs === 'number' && durationMs >= 0 ? durationMs : undefined
}

function between(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from))
}
