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

/** Whose agent it is: the id for programs, the name for people. */
export interface AgentName {
  harnessId: HarnessId
  name: string
}

/** An agent that runs one process a turn: how it is started, and how its output is read. */
export interface TurnProgram extends AgentName {
  config: TurnConfig
  /** Which releases of the agent are known. */
  versions?: HarnessVersions
  /** Throws a HarnessError, and leaves nothing behind then. */
  prepare(query: HarnessQuery): Promise<Invocation>
  /** The conversation to resume is gone, by what the process said instead of printing an event. */
  lostSession?(stderr: string): boolean
  /** What the end without a result means, where the agent's own words do not help a person. */
  explain?(stderr: string, resumedId?: string): Pick<SessionErrorEvent, 'error' | 'code'> | undefined
  /** One for each process. */
  reader(options: ReaderOptions): TurnReader
}

/** What every harness that starts processes can be told. */
export interface TurnConfig {
  /** How long each step of stopping an agent may take. */
  stop?: Pick<StopOptions, 'interruptGraceMs' | 'termGraceMs' | 'killGraceMs'>
  /** Where the raw log of each process goes. A host that finds turns again after a crash needs it where it is by default. */
  rawLogs?: RawLogs
  /** Lines for the harness log: spawn, stderr, parse errors, exit. */
  onLog?: (entry: RunnerLogEntry) => void
  /**
   * A folder of the user's. What the agent's binary says of itself is kept there, so that the next program that runs a turn
   * need not ask. Nothing is kept if not set.
   */
  dataFolder?: string
}

/** One command, ready to be spawned. */
export interface Invocation {
  command: string
  args: string[]
  env: Record<string, string>
  cwd: string
  stdin: string
  promptText: string
  attachments: number
  /** Of the agent; absent when it is not known. */
  version?: string
  /** For the reader. */
  facts?: TurnFacts
  /** Ends what was started and removes what was written for it; safe to call twice. */
  cleanup(): Promise<void>
}

export interface ReaderOptions {
  sessionId: string
  turnId: string
  /** Those of the invocation. */
  facts: TurnFacts
  /** The agent has answered, and yet its process neither prints nor exits. */
  onLinger(): void
}

/** Understands what one process prints. */
export interface TurnReader {
  read(record: NdjsonRecord): UIEvent[]
  /** The output is over: closes what was begun. */
  end(): UIEvent[]
  /** Of the last result; null when there was none. */
  readonly outcome: TurnOutcome | null
  /** That result was its last word: no more has begun since. */
  readonly answered: boolean
  /** Answered, and nothing is left in the background. */
  readonly rested: boolean
  /** The process is gone. */
  close(): void
}

export interface TurnOutcome {
  reason: TurnEndReason
  errorCode?: SessionErrorCode
}

/** What a reader has to know and the agent's output does not say. JSON. */
export type TurnFacts = Record<string, unknown>
