import type {
  AskedDecision,
  HarnessQuery,
  PermissionRequestEvent,
  SessionErrorEvent,
  TurnEndReason,
  UIEvent,
} from '@chirality/core'
import type { AdoptionRecord } from './adoption-record.ts'
import type { TurnLog } from './harness-log.ts'
import type { StopReason } from './turn-events.ts'
import type { AgentName, Invocation, TurnConfig } from './turn-program.ts'
import type { TurnStop } from './turn-stop.ts'

/** How one turn reaches its agent. The parts that are the same for every agent are in `Turn`. */
export interface TurnPlan<C extends Connection = Connection> {
  readonly agent: AgentName
  readonly config: TurnConfig
  /** The signal of the caller that started the turn. */
  readonly signal: AbortSignal
  /** The id of the conversation that the turn resumes. */
  readonly resumedId?: string | undefined
  /** A server that has exited started the turn: its events are emitted from the beginning, and errors become events. */
  readonly hasBegun?: boolean
  /** The process runs only this turn: `process:exit` is the last event, also if no process could be started. */
  readonly ownsProcess?: boolean
  /** Throws if the turn cannot start; no file or process is left in that case. */
  prompt(turn: TurnParts): Promise<TurnPrompt>
  /** Null if the turn was stopped meanwhile. Throws if the agent cannot start. */
  open(turn: TurnParts): Promise<C | null>
  /** Sends the same message in a new conversation, because the agent no longer has the one to resume. */
  readonly afresh?: ((turn: TurnParts) => Promise<C | null>) | undefined
  /** Removes everything that was prepared for the turn. Called once the turn is over. */
  release?(): Promise<void>
  /** The last event was taken: what a kept agent says from now on is not the turn's. */
  over?(): void
}

export type TurnPrompt = Pick<Invocation, 'promptText' | 'attachments'>

/** The parts of a turn that `prompt()` and `open()` need. */
export interface TurnParts {
  stop: TurnStop
  record: AdoptionRecord
  log: TurnLog
}

/** The exchange of one turn with its agent, in a kept process or in one of its own. */
export interface Connection {
  /** The agent is already working. Otherwise the message is sent when the first batch is requested. */
  readonly hasBegun: boolean
  /** Emitted after `turn:start`. */
  readonly opening?: UIEvent[]
  /** The id that the conversation should get, if it is known beforehand. */
  readonly expectedId?: string | undefined
  /** Offset in the spool at which the last batch ended. */
  readonly offset: number
  /** Silence is not reported as a stall: the agent has answered, or reports its waiting itself. */
  readonly isQuiet: boolean
  /** The agent's events as they are read. Ends when the agent is idle or its process has exited. */
  batches(): AsyncGenerator<UIEvent[], void>
  /** Sends one more message while the agent works. False if the agent cannot take it. */
  send?(prompt: HarnessQuery['prompt']): Promise<boolean>
  /** Undefined if the agent's permission requests cannot be answered. */
  readonly requests?: Requests
  /** Can be called twice. A kill resolves once no process of the turn runs any more. */
  stop(reason: StopReason): Promise<void>
  /** The result of the turn; called after the last batch, or after a batch that failed. */
  end(failure?: { error: unknown }): Promise<ConnectionEnd>
  /**
   * Releases a kept agent, or ends the process and removes its files. Can be called at any time and twice; never
   * rejects.
   */
  close(): Promise<void>
}

/** How the agent's requests are answered. */
export interface Requests {
  /**
   * Whether the request waits for an answer. A request that a rule has denied has the same form, but is already closed.
   */
  isOpen?(request: PermissionRequestEvent): boolean
  /** The decision of the rules, if they decide the request without a person. */
  rule?(request: PermissionRequestEvent): Promise<AskedDecision | undefined>
  /** Sends the answer to the agent. Returns the event to emit, or undefined if the agent emits it itself. */
  answer(request: PermissionRequestEvent, asked: AskedDecision): UIEvent | undefined
}

export interface ConnectionEnd {
  /** Events that are still to be emitted. */
  events?: UIEvent[]
  /** From the agent's last result; null if there was none, or if more work began after it. */
  outcome: TurnEndReason | null
  /** The agent had completed its work before a stop arrived. */
  isFinished: boolean
  /** Why there is no result, as text for the user. */
  fault?: (Pick<SessionErrorEvent, 'error' | 'code'> & { reason: 'failed' | 'crashed' }) | undefined
  /** The agent was idle but did not exit, so it was killed. */
  hasLingered?: boolean
  /** The number of processes that the agent had started and left running; a stop was attempted for all of them. */
  leftBehind?: number
  /** How the process exited, if it exited with the turn. */
  exit?: ProcessEnd
  /**
   * `again`: the process exited before it received the message. `afresh`: the agent no longer has the conversation, as
   * `events` say.
   */
  retry?: 'again' | 'afresh' | undefined
}

export interface ProcessEnd {
  code: number | null
  signal: string | null
  /** The number of processes that could not be stopped; undefined if it could not be determined. */
  leftRunning?: number
}
