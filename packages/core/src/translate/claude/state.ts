import type { ChatMessageEvent, SessionErrorCode, TurnEndReason, UsageInfo } from '../../events/ui-event.ts'
import type { ClaudePermissionDenial } from '../../native/claude/other-events.ts'
import { createLedger, type Ledger } from './turn/usage.ts'

/** How a result ended its turn. */
export interface ClaudeOutcome {
  reason: TurnEndReason
  isError: boolean
  /** What the agent states as its answer; missing when it failed. */
  finalText?: string
  structuredOutput?: unknown
  errorCode?: SessionErrorCode
  error?: string
  apiStatus?: number
  costUsd: number
  usage: UsageInfo
  durationMs?: number
  numTurns?: number
  origin?: string
  /** The uuid of the last message, where that is an answer. */
  forkPoint?: string
  permissionDenials: ClaudePermissionDenial[]
  nativeSessionId: string | null
}

export interface TranslatorState {
  readonly sessionId: string
  readonly harness: string
  nativeSessionId: string | null
  permissionMode: string | null
  outcome: ClaudeOutcome | null
  readonly main: Scope
  /** Scopes of sub-agents, by the tool call that started them. */
  readonly nested: Map<string, Scope>
  readonly tools: Map<string, ToolCall>
  readonly tasks: Map<string, Task>
  /** What the agent last said runs in the background, by task id. */
  background: ReadonlyMap<string, BackgroundTask>
  /** The uuid of the model's last words in this turn, while nothing has come after them. */
  forkPoint: string | null
  /** What this turn's messages became, by native uuid, in case one is taken back. */
  readonly said: Map<string, SaidBlock[]>
  /** Tool calls whose denial a person already knows of. */
  readonly knownDenials: Set<string>
  readonly openRequests: Set<string>
  readonly ledger: Ledger
  /** The API failure that a synthetic message told of and no result has confirmed yet. */
  failure: ApiFailure | null
  /** The agent told the model that the user stopped it, and no result has come since. */
  isInterrupted: boolean
  /** The agent said that it began a new conversation; the id of that is still to come. */
  isResetTold: boolean
  /** The variable that the agent has its key from. */
  credential: string | undefined
  /** Why the last request was tried again, until an answer comes. */
  lastRetry: ApiFailure | null
  rateLimitWarned: boolean
}

/** The main agent or one sub-agent: each says one thing at a time. */
export interface Scope {
  readonly parentToolUseId: string | undefined
  /** The model answer that is being written or was last confirmed. */
  messageId: string
  model: string | undefined
  /** How many blocks of that answer are final; the next one's number. */
  confirmed: number
  /** What is being streamed and not yet confirmed by an assistant event. */
  open: OpenBlock | null
  /** The text that was confirmed last, while nothing has come after it: an interrupt can still have cut it short. */
  lastText: ChatMessageEvent | null
  usageAtStart: unknown
  usage: UsageInfo | null
  /** Whether it is already told that the model refused to go on with this answer. */
  refused: boolean
}

export type OpenBlock =
  | { kind: 'text' | 'thinking'; id: string; text: string; broken?: boolean; isFull?: boolean }
  | { kind: 'tool'; toolUseId: string; inputChars?: number; isFull?: boolean }

export interface ToolCall {
  readonly name: string
  /** Until the call is over. */
  input: Record<string, unknown>
  parentToolUseId: string | undefined
  finished: boolean
}

/** What a task said when it started; later events only name its id. */
export interface Task {
  toolUseId: string | undefined
  description: string | undefined
  /** Nothing more needs to be told of it. */
  ended: boolean
}

export interface BackgroundTask {
  taskType: string | undefined
  description: string | undefined
}

export type SaidBlock =
  | { kind: 'text' | 'thinking'; id: string; parentToolUseId: string | undefined }
  | { kind: 'tool'; toolUseId: string }

export interface ApiFailure {
  error: string | undefined
  status: number | undefined
  text: string
}

export function createState(sessionId: string, harness: string): TranslatorState {
  return {
    sessionId,
    harness,
    nativeSessionId: null,
    permissionMode: null,
    outcome: null,
    main: createScope(undefined),
    nested: new Map(),
    tools: new Map(),
    tasks: new Map(),
    background: new Map(),
    forkPoint: null,
    said: new Map(),
    knownDenials: new Set(),
    openRequests: new Set(),
    ledger: createLedger(),
    failure: null,
    isInterrupted: false,
    isResetTold: false,
    credential: undefined,
    lastRetry: null,
    rateLimitWarned: false,
  }
}

export function scopeOf(state: TranslatorState, parent: unknown): Scope {
  if (typeof parent !== 'string' || parent === '') return state.main
  let scope = state.nested.get(parent)
  if (!scope) {
    scope = createScope(parent)
    state.nested.set(parent, scope)
  }
  return scope
}

/** Points the scope at a model answer; the number of its blocks starts again with every new one. */
export function enterMessage(scope: Scope, messageId: string, model: string | undefined): void {
  if (scope.messageId !== messageId) {
    scope.messageId = messageId
    scope.confirmed = 0
    scope.refused = false
  }
  scope.model = model
}

/** The same for a block whether or not it was streamed: the answer's id and the number of final blocks before it. */
export function blockId(scope: Scope, kind: 'text' | 'thinking'): string {
  return `${scope.messageId}#${kind === 'thinking' ? 't' : ''}${scope.confirmed}`
}

function createScope(parentToolUseId: string | undefined): Scope {
  return {
    parentToolUseId,
    messageId: '',
    model: undefined,
    confirmed: 0,
    open: null,
    lastText: null,
    usageAtStart: undefined,
    usage: null,
    refused: false,
  }
}
