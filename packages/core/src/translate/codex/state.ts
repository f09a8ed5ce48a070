import type { SessionErrorCode, StatusEvent, TurnEndReason, UsageInfo } from '../../events/ui-event.ts'
import type { CodexRequestId } from '../../native/codex/codex-event.ts'
import { createMeter, type Meter } from './turn/meter.ts'

/** How a turn ended. */
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
  /** By native id. Outlives the turn: a command can end in a later one. */
  readonly tools: Map<string, ToolCall>
  readonly meter: Meter
  /** Unanswered requests: native id to Chirality's. */
  readonly requests: Map<CodexRequestId, string>
  /** Threads of sub-agents, whose requests are raised here. */
  readonly subAgents: Set<string>
  rateLevel: StatusEvent['level']
}

export interface Turn {
  readonly id: string | null
  running: boolean
  /** How often a native id was used, because providers repeat ids. */
  readonly ids: Map<string, number>
  /** What is being written, by native id; kept after it was closed, in case it is completed all the same. */
  readonly speech: Map<string, Speech>
  readonly repeats: Repeats
  /** The last message, and the last proposed plan. */
  answer: string | null
  plan: string | null
  /** An error that was emitted and neither ended the turn nor was overcome yet. */
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
  /** A part of `text` that was not shown, because it may only repeat what was said before a broken stream. */
  held: boolean
  shown: boolean
  /** Its stream broke, and the request is retried. */
  broken: boolean
  closed: boolean
  /** It is longer than what is told of a text. */
  isFull: boolean
  /** Of a reasoning item: which of its two texts is shown, and how far it is. */
  source: 'summary' | 'content' | null
  part: number
}

export interface ToolCall {
  readonly id: string
  /** A start with the same native id in a later turn is another call. */
  readonly turn: Turn
  readonly name: string
  input: Record<string, unknown>
  /** As JSON, to tell new input from repeated. */
  inputKey: string
  /** The edits that were told last, in the same way. */
  editsKey: string | undefined
  finished: boolean
  /** The paths and diffs of a file change, for a person who is asked to allow it. */
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

export function createState(options: StateOptions): CodexState {
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
  }
}

/** `id` makes the ids of items unique in the session: Codex counts, or a provider does, from the start again. */
export function startTurn(state: CodexState, id: string): void {
  state.turn = createTurn(id)
  state.turn.running = true
  state.outcome = null
  state.meter.startTurn()
}

/** Our id for a new item. */
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
 * Codex sends a request again when its stream breaks, and the model's earlier output can be repeated as new items. Only
 * an item in the same position with the same text counts as a repetition.
 */
export interface Repeats {
  /** Something was said for the first time. */
  said(words: string): void
  /** The agent acted: what it says next answers another request. */
  acted(): void
  /** The stream broke. */
  broke(): void
  /** Whether these could be the first words of a repetition. */
  couldBe(words: string): boolean
  /** Whether these are one; counts it as come, or gives up waiting for more. */
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
