import type { SessionErrorCode, StatusEvent, TurnEndReason, UsageInfo } from '../../events/ui-event.ts'
import type { CodexRequestId } from '../../native/codex/codex-event.ts'
import { createMeter, type Meter } from './turn/meter.ts'

export interface CodexOutcome {
  reason: TurnEndReason
  isError: boolean
  /** The last message; undefined if the turn failed. */
  finalText?: string
  structuredOutput?: unknown
  errorCode?: SessionErrorCode
  error?: string
  apiStatus?: number
  usage: UsageInfo
  durationMs?: number
  /** The id of the turn; only the app-server reports it. */
  forkPoint?: string
  nativeSessionId: string | null
}

/** The facts about the agent, from its output or from the caller that started it. */
export interface CodexAgentFacts {
  model?: string
  version?: string
  cwd?: string
  permissionMode?: string
}

export interface CodexState {
  readonly sessionId: string
  /** The final message is JSON, because a schema was requested. */
  readonly expectsJson: boolean
  threadId: string | null
  readonly facts: CodexAgentFacts
  readonly mcpServers: Map<string, string>
  /** The last `session:init`, to detect repetitions. */
  announced: string
  outcome: CodexOutcome | null
  turn: Turn
  /** By native id. Kept after the turn, because a command can end in a later one. */
  readonly tools: Map<string, CodexCall>
  readonly meter: Meter
  /** Unanswered requests: native id to Chirality's. */
  readonly requests: Map<CodexRequestId, string>
  /** Threads of sub-agents, whose requests are shown in this session. */
  readonly subAgents: Set<string>
  rateLevel: StatusEvent['level']
  /** The last `limits`, to detect repetitions. */
  toldLimits: string
}

export interface Turn {
  readonly id: string | null
  running: boolean
  /** How often a native id was used, because providers repeat ids. */
  readonly ids: Map<string, number>
  /** The texts in progress, by native id. Kept after they were closed, because a late completion is possible. */
  readonly speech: Map<string, Speech>
  readonly repeats: Repeats
  /** The last message, and the last proposed plan. */
  answer: string | null
  plan: string | null
  /** An error that was reported, but neither ended the turn nor was overcome yet. */
  failure: PendingFailure | null
  /** The texts of emitted warnings, and of the last retry. */
  readonly warned: Set<string>
  lastRetry: string
  userMessages: number
  todosShown: boolean
  compacted: boolean
  diff: string
}

export interface Speech {
  readonly id: string
  readonly kind: 'text' | 'thinking'
  text: string
  /** A part of `text` is not shown yet, because it may only repeat text from before a broken stream. */
  held: boolean
  shown: boolean
  /** Its stream broke, and the request is retried. */
  broken: boolean
  closed: boolean
  /** The text has reached its length limit. */
  isFull: boolean
  /** Of a reasoning item: the text that is shown, and its length so far. */
  source: 'summary' | 'content' | null
  part: number
}

export interface CodexCall {
  readonly id: string
  /** A start with the same native id in a later turn is another call. */
  readonly turn: Turn
  readonly name: string
  input: Record<string, unknown>
  /** The input as JSON, to detect changes. */
  inputKey: string
  /** The last reported edits as JSON, to detect changes. */
  editsKey: string | undefined
  finished: boolean
  /** The paths and diffs of a file change, for the permission request. */
  detail?: Record<string, unknown> | undefined
}

export interface PendingFailure {
  message: string
  details?: string
  info?: unknown
}

export interface StateOptions {
  sessionId: string
  threadId?: string
  expectsJson?: boolean
  agent?: CodexAgentFacts
  usageBefore?: UsageInfo
}

export function createCodexState(options: StateOptions): CodexState {
  return {
    sessionId: options.sessionId,
    expectsJson: options.expectsJson ?? false,
    threadId: options.threadId ?? null,
    facts: { ...options.agent },
    mcpServers: new Map(),
    announced: '',
    outcome: null,
    turn: createTurn(null),
    tools: new Map(),
    meter: createMeter(options.usageBefore),
    requests: new Map(),
    subAgents: new Set(),
    rateLevel: 'info',
    toldLimits: '',
  }
}

/** `id` makes item ids unique in the session: Codex and some providers restart their counts. */
export function startCodexTurn(state: CodexState, id: string): void {
  state.turn = createTurn(id)
  state.turn.running = true
  state.outcome = null
  state.meter.startTurn()
}

export function newItemId(state: CodexState, nativeId: string): string {
  const { turn } = state
  const count = (turn.ids.get(nativeId) ?? 0) + 1
  turn.ids.set(nativeId, count)
  const name = count === 1 ? nativeId : `${nativeId}~${count}`
  return turn.id === null ? name : `${turn.id}:${name}`
}

function createTurn(id: string | null): Turn {
  return {
    id,
    running: false,
    ids: new Map(),
    speech: new Map(),
    repeats: createRepeats(),
    answer: null,
    plan: null,
    failure: null,
    warned: new Set(),
    lastRetry: '',
    userMessages: 0,
    todosShown: false,
    compacted: false,
    diff: '',
  }
}

/**
 * Codex repeats a request when its stream breaks, and the model's earlier output can arrive again as new items. Only an
 * item in the same position with the same text counts as a repetition.
 */
export interface Repeats {
  /** A new text was completed. */
  said(words: string): void
  /** The agent acted, so the next text belongs to another request. */
  acted(): void
  /** The stream broke. */
  broke(): void
  /** Whether this could be the beginning of a repetition. */
  couldBe(words: string): boolean
  /** Whether this is a repetition. If so it is counted; otherwise no more are expected. */
  take(words: string): boolean
}

export function createRepeats(): Repeats {
  let said: string[] = []
  let expected: string[] = []
  return {
    said: words => {
      said.push(words)
    },
    acted: () => {
      said = []
      expected = []
    },
    broke: () => {
      expected = [...said]
    },
    couldBe: words => expected[0]?.startsWith(words) ?? false,
    take: words => {
      const repeated = expected[0] === words
      expected = repeated ? expected.slice(1) : []
      return repeated
    },
  }
}
