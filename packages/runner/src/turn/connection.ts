import type {
  AskedDecision,
  HarnessQuery,
  PermissionRequestEvent,
  SessionErrorEvent,
  TurnEndReason,
  UIEvent,
} from '@chirality/core'
import type { AdoptionRecord } from './adoption-record.ts'
import type { HarnessLog } from './harness-log.ts'
import type { StopReason } from './turn-events.ts'
import type { AgentName, Invocation, TurnConfig } from './turn-program.ts'
import type { TurnStop } from './turn-stop.ts'

/** How one turn reaches its agent. All that is the same for every agent is in `Turn`. */
export interface TurnPlan<C extends Connection = Connection> {
  readonly agent: AgentName
  readonly config: TurnConfig
  /** Of whoever started the turn. */
  readonly signal: AbortSignal
  /** The conversation that the turn goes on with. */
  readonly resumedId?: string | undefined
  /** An earlier Chirality began the turn: it is told from its beginning, and what is wrong with it is an event. */
  readonly hasBegun?: boolean
  /** The process is the turn's own: `process:exit` is the last event also when none could be started. */
  readonly ownsProcess?: boolean
  /** Throws what keeps the turn from starting, and leaves nothing behind then. */
  prompt(turn: TurnParts): Promise<TurnPrompt>
  /** Null when the turn was stopped meanwhile. Throws what keeps the agent from starting. */
  open(turn: TurnParts): Promise<C | null>
  /** The same message as the first of a new conversation: the agent no longer has the one to resume. */
  readonly afresh?: ((turn: TurnParts) => Promise<C | null>) | undefined
  /** Everything is over: leaves nothing of what was prepared. */
  release?(): Promise<void>
}

export type TurnPrompt = Pick<Invocation, 'promptText' | 'attachments'>

/** What the turn gives to whoever opens its connection. */
export interface TurnParts {
  stop: TurnStop
  record: AdoptionRecord
  log: HarnessLog
}

/** One turn's talk with its agent, whether the process is kept afterwards or was started for it. */
export interface Connection {
  /** The agent works already. Otherwise it is given the message when the first batch is asked for. */
  readonly hasBegun: boolean
  /** Told after `turn:start`. */
  readonly opening?: UIEvent[]
  /** The id that the conversation should have, where that is known beforehand. */
  readonly expectedId?: string | undefined
  /** Where in the spool the last batch ended. */
  readonly offset: number
  /** Its silence need not be told: it has answered, or tells of it itself. */
  readonly isQuiet: boolean
  /** What the agent says, as it is read. Ends when the agent rests or is gone. */
  batches(): AsyncGenerator<UIEvent[], void>
  /** One more message for the agent while it works. False when it cannot take it. */
  send?(prompt: HarnessQuery['prompt']): Promise<boolean>
  /** Absent where nobody can answer what the agent asks. */
  readonly requests?: Requests
  /** Safe to call twice. For a kill it resolves when nothing of the turn runs any more. */
  stop(reason: StopReason): Promise<void>
  /** After the last batch, or after one that failed: what became of the turn. */
  end(failure?: { error: unknown }): Promise<ConnectionEnd>
  /** Lets go of the agent, or ends it with its files. May be called at any time, and twice. Never rejects. */
  close(): Promise<void>
}

/** How the agent's requests are answered. */
export interface Requests {
  /** Somebody has to answer it: what a rule denied may be told in the same form, and is over. */
  isOpen?(request: PermissionRequestEvent): boolean
  /** What rules say by themselves, so that nobody is asked. */
  rule?(request: PermissionRequestEvent): Promise<AskedDecision | undefined>
  /** Gives the agent the answer. Returns what is told of it, or nothing where the agent tells it itself. */
  answer(request: PermissionRequestEvent, asked: AskedDecision): UIEvent | undefined
}

export interface ConnectionEnd {
  /** What is still to be told. */
  events?: UIEvent[]
  /** By the agent's last result; null when there was none, or more had begun since. */
  outcome: TurnEndReason | null
  /** It had completed its work, so that a stop came too late to matter. */
  isFinished: boolean
  /** Why there is no result, in words for a person. */
  fault?: (Pick<SessionErrorEvent, 'error' | 'code'> & { reason: 'failed' | 'crashed' }) | undefined
  /** It rested and did not exit, so it was ended. */
  hasLingered?: boolean
  /** What it had started and left alive; all of it was stopped, or tried to. */
  leftBehind?: number
  /** Of the process, when it ended with the turn. */
  exit?: ProcessEnd
  /**
   * `again`: the process had gone before it heard of the turn. `afresh`: it no longer has the conversation, as `events`
   * say.
   */
  retry?: 'again' | 'afresh' | undefined
}

export interface ProcessEnd {
  code: number | null
  signal: string | null
  /** What could not be stopped; absent when it is not known that there is nothing. */
  leftRunning?: number
}
