import type { CagePlan } from '@chirality/cage'
import type {
  HarnessId,
  HarnessQuery,
  HarnessVersions,
  NdjsonRecord,
  SessionErrorCode,
  SessionErrorEvent,
  TurnEndReason,
  UIEvent,
} from '@chirality/core'
import type { RunnerLogEntry } from '../common/log-entry.ts'
import type { RawLogs } from '../process/spool/log-directory.ts'
import type { StopOptions } from '../process/stop/stop.ts'

/** The agent's id for programs and its name for people. */
export interface AgentName {
  harnessId: HarnessId
  name: string
}

/** An agent that runs one process for each turn: how it is started, and how its output is read. */
export interface TurnProgram extends AgentName {
  config: TurnConfig
  /** The releases of the agent that the tests run. */
  versions?: HarnessVersions | undefined
  /** Throws a HarnessError; no file or process is left in that case. */
  prepare(query: HarnessQuery): Promise<Invocation>
  /** Whether the process reported, in place of an event, that the conversation to resume does not exist. */
  lostSession?(stderr: string): boolean
  /** The text for an exit without a result, if the agent's own text does not help a user. */
  explain?(stderr: string, resumedId?: string): Pick<SessionErrorEvent, 'error' | 'code'> | undefined
  /** Creates the reader of one process. */
  reader(options: ReaderOptions): TurnReader
}

/** The options of every harness that starts processes. */
export interface TurnConfig {
  /** How long each step of stopping an agent may take. */
  stop?: Pick<StopOptions, 'interruptGraceMs' | 'termGraceMs' | 'killGraceMs'> | undefined
  /** The folder of the raw logs. A host that adopts turns after a crash needs the default folder. */
  rawLogs?: RawLogs | undefined
  /** Lines for the harness log: spawn, stderr, parse errors, exit. */
  onLog?: ((entry: RunnerLogEntry) => void) | undefined
  /**
   * A folder of the user that caches the version and features of the agent's binary, so that the next process need not
   * start the binary to ask. Nothing is cached if it is not set.
   */
  dataFolder?: string | undefined
}

/** One command, ready to be spawned. */
export interface Invocation {
  command: string
  args: string[]
  env: Record<string, string>
  cwd: string
  /** The command runs in this cage. */
  cage?: CagePlan | undefined
  stdin: string
  promptText: string
  attachments: number
  /** The agent's version; undefined if it is not known. */
  version?: string | undefined
  /** Passed to the reader. */
  facts?: TurnFacts | undefined
  /** Ends the processes and removes the files that were created for the command; can be called twice. */
  cleanup(): Promise<void>
}

export interface ReaderOptions {
  sessionId: string
  turnId: string
  /** The facts of the invocation. */
  facts: TurnFacts
  /** The agent has answered, but its process neither prints nor exits. */
  onLinger(): void
}

/** Translates the output of one process. */
export interface TurnReader {
  read(record: NdjsonRecord): UIEvent[]
  /** The output is over: returns the events that close open messages and tool calls. */
  end(): UIEvent[]
  /** The outcome of the last result; null if there was none. */
  readonly outcome: TurnOutcome | null
  /** No work has begun since the last result. */
  readonly answered: boolean
  /** The agent has answered and no background task is left. */
  readonly rested: boolean
  /** The process has exited. */
  close(): void
}

export interface TurnOutcome {
  reason: TurnEndReason
  errorCode?: SessionErrorCode | undefined
}

/** Facts that a reader needs and the agent's output does not contain. JSON. */
export type TurnFacts = Record<string, unknown>
