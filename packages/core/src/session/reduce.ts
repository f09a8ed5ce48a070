import type {
  BudgetEvent,
  ChatDeltaEvent,
  ChatMessageEvent,
  ChatThinkingEvent,
  Envelope,
  SessionErrorEvent,
  StatusEvent,
  ToolInputEvent,
  ToolResultEvent,
  ToolStartEvent,
  TurnStartEvent,
} from '../events/ui-event.ts'
import { unreachable } from '../events/unreachable.ts'
import { budgetText } from '../money/amounts.ts'
import { SessionDraft } from './draft.ts'
import type { SessionItem, SessionState } from './state.ts'
import { isTransient, summarize } from './summary.ts'
import { beginWait, callComplete, endWait, seeDenial, seeTask, toolDuration } from './tool-time.ts'

/**
 * Folds envelopes into the state: `summarize` folds the summary, and this adds the items of the transcript. Pure; an
 * envelope at or before `state.seq` is skipped, so overlapping replays are harmless.
 */
export function reduceSession(state: SessionState, envelopes: Envelope | readonly Envelope[]): SessionState {
  const batch = Array.isArray(envelopes) ? (envelopes as readonly Envelope[]) : [envelopes as Envelope]
  const draft = new SessionDraft(state)
  let changed = false
  for (const envelope of batch) {
    if (envelope.seq <= draft.state.seq) continue
    apply(draft, envelope)
    draft.state.seq = envelope.seq
    changed = true
  }
  return changed ? draft.state : state
}

function apply(draft: SessionDraft, envelope: Envelope): void {
  const { turn: before } = draft.state
  // Items come first: a tool's waiting time depends on the requests that were open until now.
  addToItems(draft, envelope)
  summarize(draft.state, envelope)
  const { turn } = draft.state
  if (turn === null || turn === before) return
  if (envelope.event.type === 'turn:start') draft.addTurn(turn)
  else draft.updateLastTurn(() => turn)
}

function addToItems(draft: SessionDraft, envelope: Envelope): void {
  const { event } = envelope
  switch (event.type) {
    case 'turn:start':
      return startTurn(draft, envelope, event)
    case 'turn:end':
      return endTurn(draft, envelope)
    case 'chat:delta':
      return appendText(draft, envelope, event)
    case 'chat:message':
      return finishText(draft, envelope, event)
    case 'chat:thinking':
      return think(draft, envelope, event)
    case 'chat:complete':
      return completeChat(draft, envelope, event.text)
    case 'tool:start':
      return startTool(draft, envelope, event)
    case 'tool:input':
      return setToolInput(draft, envelope, event)
    case 'tool:result':
      return finishTool(draft, envelope, event)
    case 'session:error':
      return fail(draft, envelope, event)
    case 'permission:request':
      return beginWait(draft, envelope, event)
    case 'permission:resolved':
      return endWait(draft, envelope, event)
    case 'status':
      return setStatus(draft, envelope, event)
    case 'log:gap':
      return draft.addItem({
        ...itemBase(envelope, `gap-${envelope.seq}`),
        kind: 'gap',
        missing: event.missing,
        reason: event.reason,
      })
    case 'budget':
      return tellBudget(draft, envelope, event)
    case 'session:init':
    case 'session:complete':
    case 'usage':
    case 'limits':
    case 'native:unknown':
    case 'process:exit':
      return
    default:
      return unreachable(event)
  }
}

function startTurn(draft: SessionDraft, envelope: Envelope, event: TurnStartEvent): void {
  draft.addItem({
    ...itemBase(envelope, `user-${envelope.turnId ?? envelope.seq}`),
    kind: 'user',
    text: event.message,
    attachments: event.attachments ?? 0,
  })
}

/** No item may be shown as working after this: open text is closed, tools without a result are marked. */
function endTurn(draft: SessionDraft, envelope: Envelope): void {
  for (let i = draft.state.items.length - 1; i >= 0; i--) {
    const item = draft.state.items[i]
    if (!item || item.kind === 'user') break
    closeItem(draft, item, envelope.at)
  }
}

function closeItem(draft: SessionDraft, item: SessionItem, at: string): void {
  if (item.kind === 'tool' && item.status === 'running') {
    draft.takeLive(item.id)
    draft.updateItem('tool', item.id, tool => ({ ...tool, status: 'unfinished', endedAt: at }))
  } else if (item.kind === 'text' && item.streaming) {
    const text = draft.takeLive(item.id)
    draft.updateItem('text', item.id, open => ({ ...open, text, streaming: false, aborted: true }))
  } else if (item.kind === 'thinking' && item.streaming) {
    const text = draft.takeLive(item.id)
    draft.updateItem('thinking', item.id, open => ({ ...open, text, streaming: false }))
  }
}

function appendText(draft: SessionDraft, envelope: Envelope, event: ChatDeltaEvent): void {
  const id = event.messageId ?? `text-${envelope.turnId}`
  if (draft.state.live[id] === undefined) {
    const base = itemBase(envelope, id, event.parentToolUseId)
    draft.addItem({ ...base, kind: 'text', text: '', streaming: true, aborted: false })
  }
  draft.appendLive(id, event.text)
}

function finishText(draft: SessionDraft, envelope: Envelope, event: ChatMessageEvent): void {
  draft.takeLive(event.messageId)
  if (event.discarded) return draft.removeItem('text', event.messageId)
  const done = { text: event.text, streaming: false, aborted: event.aborted ?? false }
  if (draft.updateItem('text', event.messageId, item => ({ ...item, ...done }))) return
  draft.addItem({ ...itemBase(envelope, event.messageId, event.parentToolUseId), kind: 'text', ...done })
}

function think(draft: SessionDraft, envelope: Envelope, event: ChatThinkingEvent): void {
  const id = event.messageId
  if (event.final) {
    draft.takeLive(id)
    // An empty block withdraws the streamed text of a broken answer that is retried.
    if (event.text === '') return draft.removeItem('thinking', id)
    const done = { text: event.text, streaming: false }
    if (draft.updateItem('thinking', id, item => ({ ...item, ...done }))) return
    return draft.addItem({ ...itemBase(envelope, id, event.parentToolUseId), kind: 'thinking', ...done })
  }
  if (draft.state.live[id] === undefined) {
    const base = itemBase(envelope, id, event.parentToolUseId)
    draft.addItem({ ...base, kind: 'thinking', text: '', streaming: true })
  }
  draft.appendLive(id, event.text)
}

/** The final answer repeats the last text, so it is shown only for an agent that streamed no text. */
function completeChat(draft: SessionDraft, envelope: Envelope, text: string): void {
  if (text === '' || turnHasText(draft, envelope.turnId)) return
  draft.addItem({
    ...itemBase(envelope, `answer-${envelope.seq}`),
    kind: 'text',
    text,
    streaming: false,
    aborted: false,
  })
}

function turnHasText(draft: SessionDraft, turnId: string | null): boolean {
  for (let i = draft.state.items.length - 1; i >= 0; i--) {
    const item = draft.state.items[i]
    if (!item || item.turnId !== turnId || item.kind === 'user') return false
    if (item.kind === 'text' && item.parentToolUseId === undefined) return true
  }
  return false
}

function startTool(draft: SessionDraft, envelope: Envelope, event: ToolStartEvent): void {
  draft.addItem({
    ...itemBase(envelope, event.toolUseId, event.parentToolUseId),
    kind: 'tool',
    name: event.name,
    input: event.input,
    ...(event.facts === undefined ? {} : { facts: event.facts }),
    status: 'running',
    content: null,
    endedAt: null,
    durationMs: null,
  })
}

function setToolInput(draft: SessionDraft, envelope: Envelope, event: ToolInputEvent): void {
  if (event.delta !== undefined) return draft.appendLive(event.toolUseId, event.delta)
  const { input, facts } = event
  draft.takeLive(event.toolUseId)
  const written = { input, ...(facts === undefined ? {} : { facts }) }
  draft.updateItem('tool', event.toolUseId, item => {
    // The agent's own input can come after the answer that replaced it.
    if (item.asked !== undefined) return callComplete({ ...item, asked: written }, envelope.at)
    const { facts: _, ...call } = item
    return callComplete({ ...call, ...written }, envelope.at)
  })
}

function finishTool(draft: SessionDraft, envelope: Envelope, event: ToolResultEvent): void {
  draft.takeLive(event.toolUseId)
  draft.updateItem('tool', event.toolUseId, item => ({
    ...item,
    status: event.isError ? 'failed' : 'done',
    content: event.content,
    ...(event.detail === undefined ? {} : { detail: event.detail }),
    ...(event.edits === undefined ? {} : { edits: event.edits }),
    endedAt: envelope.at,
    durationMs: toolDuration(item, event, envelope.at),
  }))
}

function fail(draft: SessionDraft, envelope: Envelope, event: SessionErrorEvent): void {
  draft.addItem({
    ...itemBase(envelope, `error-${envelope.seq}`),
    kind: 'error',
    code: event.code,
    message: event.error,
    recovered: event.recovered ?? false,
    ...(event.credential === undefined ? {} : { credential: event.credential }),
  })
}

/** A budget has one line in a turn, which later events update. */
function tellBudget(draft: SessionDraft, envelope: Envelope, event: BudgetEvent): void {
  const { scope, exceeded, limitUsd, limitTokens, limitMs } = event
  const unit = limitTokens !== undefined ? '-tokens' : limitMs !== undefined ? '-time' : ''
  const id = `budget-${envelope.turnId ?? envelope.seq}-${scope}${unit}`
  const news = {
    scope,
    exceeded,
    message: budgetText(event),
    ...(limitUsd === undefined ? {} : { limitUsd }),
    ...(limitTokens === undefined ? {} : { limitTokens }),
    ...(limitMs === undefined ? {} : { limitMs }),
  }
  if (draft.updateItem('budget', id, item => ({ ...item, ...news }))) return
  draft.addItem({ ...itemBase(envelope, id), kind: 'budget', ...news })
}

function setStatus(draft: SessionDraft, envelope: Envelope, event: StatusEvent): void {
  if (isTransient(event)) return
  seeTask(draft, envelope, event)
  seeDenial(draft, event)
  // A background task reports often, so its line is updated.
  const taskId = event.status === 'task' ? event.data?.taskId : undefined
  const id = typeof taskId === 'string' ? `task-${taskId}` : `notice-${envelope.seq}`
  const notice = {
    kind: 'notice' as const,
    status: event.status,
    level: event.level,
    message: event.message,
    ...(event.data === undefined ? {} : { data: event.data }),
    ...(event.todos === undefined ? {} : { todos: event.todos }),
  }
  if (taskId !== undefined && draft.updateItem('notice', id, item => ({ ...item, ...notice }))) return
  draft.addItem({ ...itemBase(envelope, id, event.parentToolUseId), ...notice })
}

function itemBase(envelope: Envelope, id: string, parentToolUseId?: string) {
  const base = { seq: envelope.seq, id, at: envelope.at, turnId: envelope.turnId }
  return parentToolUseId === undefined ? base : { ...base, parentToolUseId }
}
