import type {
  ChatMessageEvent,
  NativeUnknownEvent,
  SessionErrorCode,
  TurnEndReason,
  UsageInfo,
} from '../../events/ui-event.ts'
import type { ClaudePermissionDenial } from '../../native/claude/other-events.ts'
import { createLedger, type Ledger } from './usage.ts'

/** How a result ended its turn. */
export interface ClaudeOutcome {
  reason: TurnEndReason
  isError: boolean
  /** The agent's stated answer; undefined if it failed. */
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
  readonly tools: Map<string, ClaudeCall>
  readonly tasks: Map<string, Task>
  /** The background tasks that the agent reported last, by task id. */
  background: ReadonlyMap<string, BackgroundTask>
  /** The uuid of the model's last message in this turn, while nothing has followed it. */
  forkPoint: string | null
  /** The events of this turn's messages, by native uuid, in case one is withdrawn. */
  readonly said: Map<string, SaidBlock[]>
  /** Tool calls whose denial was already shown. */
  readonly knownDenials: Set<string>
  readonly openRequests: Set<string>
  readonly ledger: Ledger
  /** The API failure that a synthetic message reported and no result has confirmed yet. */
  failure: ApiFailure | null
  /** The agent told the model that the user stopped it, and no result has followed. */
  isInterrupted: boolean
  /** The agent reported a new conversation, whose id is not known yet. */
  isResetTold: boolean
  /** The variable that holds the agent's key. */
  credential: string | undefined
  /** Why the last request was tried again, until an answer comes. */
  lastRetry: ApiFailure | null
  rateLimitWarned: boolean
  /** The last `limits`, to detect repetitions. */
  toldLimits: string
}

/** The main agent or one sub-agent: each writes one message at a time. */
export interface Scope {
  readonly parentToolUseId: string | undefined
  /** The model answer that is being written or was last confirmed. */
  messageId: string
  model: string | undefined
  /** How many blocks of that answer are final; the next one's number. */
  confirmed: number
  /** The block that is being streamed and not yet confirmed by an assistant event. */
  open: OpenBlock | null
  /** A text that was confirmed while its stream is open. Not told yet: an interrupt may have cut it short. */
  held: ChatMessageEvent | null
  usageAtStart: unknown
  usage: UsageInfo | null
  /** Whether the model's refusal to continue this answer was already emitted. */
  refused: boolean
}

export type OpenBlock =
  | {
      kind: 'text' | 'thinking'
      id: string
      text: string
      broken?: boolean
      isFull?: boolean
      isOver?: boolean
    }
  | { kind: 'tool'; toolUseId: string; inputChars?: number; isFull?: boolean }

export interface ClaudeCall {
  readonly name: string
  /** Kept until the call is over. */
  input: Record<string, unknown>
  parentToolUseId: string | undefined
  finished: boolean
}

/** The description of a task from its start; later events only have its id. */
export interface Task {
  toolUseId: string | undefined
  description: string | undefined
  /** No further event of it is needed. */
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

export function createClaudeState(sessionId: string, harness: string): TranslatorState {
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
    toldLimits: '',
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
    held: null,
    usageAtStart: undefined,
    usage: null,
    refused: false,
  }
}

export const CLAUDE_HARNESS = 'claude-code'
export const SDK_HARNESS_ID = 'agent-sdk'

export function unknownOfClaude(
  state: TranslatorState,
  nativeType: string,
  raw: unknown,
): NativeUnknownEvent {
  return { type: 'native:unknown', sessionId: state.sessionId, harness: state.harness, nativeType, raw }
}
