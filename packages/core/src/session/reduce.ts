import type {
  BudgetEvent,
  ChatDeltaEvent,
  ChatMessageEvent,
  ChatThinkingEvent,
  Envelope,
  SessionErrorEvent,
  SessionInitEvent,
  StatusEvent,
  StatusKind,
  ToolInputEvent,
  ToolResultEvent,
  ToolStartEvent,
  TurnEndEvent,
  TurnStartEvent,
  UIEvent,
  UsageEvent,
  UsageInfo,
} from '../events/ui-event.ts'
import { unreachable } from '../events/ui-event.ts'
import { addCost, allTokens, costBetween, costSoFar } from '../money/cost.ts'
import { budgetText } from '../words/amounts.ts'
import { SessionDraft } from './draft.ts'
import type { SessionItem, SessionState } from './state.ts'
import { beginWait, callComplete, endWait, seeTask, toolDuration } from './tool-time.ts'

/**
 * Folds envelopes into the state. The one reducer: server, dashboard and command line all show what it says.
 * Pure; an envelope at or before `state.seq` was seen already and is skipped, so overlapping replays are harmless.
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
  const { event } = envelope
  spend(draft, event)
  switch (event.type) {
    case 'turn:start':
      return startTurn(draft, envelope, event)
    case 'turn:end':
      return endTurn(draft, envelope, event)
    case 'session:init':
      return setAgent(draft, envelope, event)
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
    case 'session:complete':
      return complete(draft, event.usage)
    case 'session:error':
      return fail(draft, envelope, event)
    case 'permission:request':
      draft.state.pending = [...draft.state.pending, event]
      beginWait(draft, envelope, event)
      draft.state.phase = 'waiting'
      return
    case 'permission:resolved':
      endWait(draft, envelope, event)
      draft.state.pending = draft.state.pending.filter(request => request.requestId !== event.requestId)
      if (draft.state.phase === 'waiting' && draft.state.pending.length === 0) draft.state.phase = 'running'
      return
    case 'status':
      return setStatus(draft, envelope, event)
    case 'usage':
      return setContext(draft, event)
    case 'native:unknown':
      draft.state.driftCount += 1
      return
    case 'log:gap':
      return draft.addItem({
        ...itemBase(envelope, `gap-${envelope.seq}`),
        kind: 'gap',
        missing: event.missing,
        reason: event.reason,
      })
    case 'budget':
      return tellBudget(draft, envelope, event)
    case 'process:exit':
      return
    default:
      return unreachable(event)
  }
}

function startTurn(draft: SessionDraft, envelope: Envelope, event: TurnStartEvent): void {
  draft.state.phase = 'running'
  draft.state.status = null
  draft.state.turnLedger = draft.state.ledger
  draft.addTurn({
    ...{ id: envelope.turnId, startedAt: envelope.at, endedAt: null, reason: null },
    ...{ costUsd: 0, costIsEstimate: false },
  })
  draft.addItem({
    ...itemBase(envelope, `user-${envelope.turnId ?? envelope.seq}`),
    kind: 'user',
    text: event.message,
    attachments: event.attachments ?? 0,
  })
}

/** Nothing may say "working" after this: open text is closed, tools without a result are marked, requests withdrawn. */
function endTurn(draft: SessionDraft, envelope: Envelope, event: TurnEndEvent): void {
  for (let i = draft.state.items.length - 1; i >= 0; i--) {
    const item = draft.state.items[i]
    if (!item || item.kind === 'user') break
    closeItem(draft, item, envelope.at)
  }
  draft.updateLastTurn(turn => ({ ...turn, endedAt: envelope.at, reason: event.reason }))
  draft.state.phase = 'idle'
  draft.state.status = null
  draft.state.pending = []
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

function setAgent(draft: SessionDraft, envelope: Envelope, event: SessionInitEvent): void {
  draft.state.agent = {
    harness: event.harness ?? draft.state.agent.harness,
    nativeSessionId: event.claudeSessionId,
    model: event.model,
    version: event.version ?? draft.state.agent.version,
    permissionMode: event.permissionMode ?? draft.state.agent.permissionMode,
    tools: event.tools,
  }
  // An agent that was started ahead of any turn is ready, not at work.
  if (draft.state.phase === 'idle' && envelope.turnId !== null) draft.state.phase = 'running'
}

function appendText(draft: SessionDraft, envelope: Envelope, event: ChatDeltaEvent): void {
  const id = event.messageId ?? `text-${envelope.turnId}`
  if (draft.state.live[id] === undefined) {
    const base = itemBase(envelope, id, event.parentToolUseId)
    draft.addItem({ ...base, kind: 'text', text: '', streaming: true, aborted: false })
    draft.state.status = null
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
    // An empty block takes back what was streamed: a broken answer that is tried again.
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

/** The final answer repeats the last text; only an agent that streamed no text at all is shown by it. */
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
  draft.state.status = null
  draft.addItem({
    ...itemBase(envelope, event.toolUseId, event.parentToolUseId),
    kind: 'tool',
    name: event.name,
    input: event.input,
    status: 'running',
    content: null,
    endedAt: null,
    durationMs: null,
  })
}

function setToolInput(draft: SessionDraft, envelope: Envelope, event: ToolInputEvent): void {
  if (event.delta !== undefined) return draft.appendLive(event.toolUseId, event.delta)
  const { input } = event
  draft.takeLive(event.toolUseId)
  draft.updateItem('tool', event.toolUseId, item => callComplete({ ...item, input }, envelope.at))
}

function finishTool(draft: SessionDraft, envelope: Envelope, event: ToolResultEvent): void {
  draft.takeLive(event.toolUseId)
  draft.updateItem('tool', event.toolUseId, item => ({
    ...item,
    status: event.isError ? 'failed' : 'done',
    content: event.content,
    ...(event.detail === undefined ? {} : { detail: event.detail }),
    endedAt: envelope.at,
    durationMs: toolDuration(item, event, envelope.at),
  }))
}

function fail(draft: SessionDraft, envelope: Envelope, event: SessionErrorEvent): void {
  complete(draft, event.usage)
  draft.addItem({
    ...itemBase(envelope, `error-${envelope.seq}`),
    kind: 'error',
    code: event.code,
    message: event.error,
    recovered: event.recovered ?? false,
    ...(event.credential === undefined ? {} : { credential: event.credential }),
  })
}

function spend(draft: SessionDraft, event: UIEvent): void {
  const { state } = draft
  const ledger = addCost(state.ledger, event)
  if (ledger === state.ledger) return
  state.ledger = ledger
  if (event.type === 'turn:start') return
  const { usd, isEstimate } = costSoFar(ledger)
  state.costUsd = usd
  state.costIsEstimate = isEstimate
  const turn = costBetween(state.turnLedger, ledger)
  draft.updateLastTurn(last => ({ ...last, costUsd: turn.usd, costIsEstimate: turn.isEstimate }))
}

function complete(draft: SessionDraft, usage: UsageInfo | undefined): void {
  const { state } = draft
  state.status = null
  // A log that was translated without a turn around it has no turn:end to rest on.
  if (state.turns.length === 0) state.phase = 'idle'
  if (!usage) return
  state.usage = {
    input_tokens: state.usage.input_tokens + usage.input_tokens,
    output_tokens: state.usage.output_tokens + usage.output_tokens,
    cache_read_input_tokens:
      (state.usage.cache_read_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0),
    cache_creation_input_tokens:
      (state.usage.cache_creation_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
  }
}

/** A budget has one line in a turn, which its latest news replace. */
function tellBudget(draft: SessionDraft, envelope: Envelope, event: BudgetEvent): void {
  const { scope, exceeded, limitUsd, limitTokens, limitMs } = event
  const unit = limitTokens !== undefined ? '-tokens' : limitMs !== undefined ? '-time' : ''
  const id = `budget-${envelope.turnId ?? envelope.seq}-${scope}${unit}`
  const news = {
    ...{ scope, exceeded, message: budgetText(event) },
    ...(limitUsd === undefined ? {} : { limitUsd }),
    ...(limitTokens === undefined ? {} : { limitTokens }),
    ...(limitMs === undefined ? {} : { limitMs }),
  }
  if (draft.updateItem('budget', id, item => ({ ...item, ...news }))) return
  draft.addItem({ ...itemBase(envelope, id), kind: 'budget', ...news })
}

function setStatus(draft: SessionDraft, envelope: Envelope, event: StatusEvent): void {
  if (event.status === 'permission_mode' && typeof event.data?.mode === 'string') {
    draft.state.agent = { ...draft.state.agent, permissionMode: event.data.mode }
  }
  if (TRANSIENT.has(event.status)) {
    draft.state.status = event.status === 'idle' ? null : event
    return
  }
  seeTask(draft, envelope, event)
  // A background task reports often; it is one line that changes.
  const taskId = event.status === 'task' ? event.data?.taskId : undefined
  const id = typeof taskId === 'string' ? `task-${taskId}` : `notice-${envelope.seq}`
  const notice = {
    kind: 'notice' as const,
    status: event.status,
    level: event.level,
    message: event.message,
    ...(event.data === undefined ? {} : { data: event.data }),
  }
  if (taskId !== undefined && draft.updateItem('notice', id, item => ({ ...item, ...notice }))) return
  draft.addItem({ ...itemBase(envelope, id, event.parentToolUseId), ...notice })
}

/** Shown while they last and then gone; every other status stays in the transcript as a quiet line. */
const TRANSIENT: ReadonlySet<StatusKind> = new Set([
  'requesting',
  'idle',
  'compacting',
  'stalled',
  'tool_progress',
])

function setContext(draft: SessionDraft, event: UsageEvent): void {
  if (event.parentToolUseId !== undefined) return
  draft.state.contextTokens = allTokens(event.usage)
}

function itemBase(envelope: Envelope, id: string, parentToolUseId?: string) {
  const base = { seq: envelope.seq, id, at: envelope.at, turnId: envelope.turnId }
  return parentToolUseId === undefined ? base : { ...base, parentToolUseId }
}
