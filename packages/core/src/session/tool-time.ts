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
  const { wait } = item
  if (wait?.denied && event.isError) return null
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
    const denied = id === request.toolUseId && event.outcome !== 'allowed'
    draft.updateItem('tool', id, item => {
      const wait = { ...waitOf(item), ...(denied ? { denied } : {}) }
      if (wait.askedAt === null || others.includes(id)) return { ...item, wait }
      const waitedMs = wait.waitedMs + between(wait.askedAt, envelope.at)
      return { ...item, wait: { ...wait, askedAt: null, waitedMs } }
    })
  }
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
