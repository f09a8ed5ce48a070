import type { MachineState } from '../../../src/claim/presence.ts'
import type { Member } from '../../../src/engine/fleet-files.ts'
import type { StepTime } from '../../../src/move/step-times.ts'
import type { Speech } from './speaking-agent.ts'

/** Requests to a machine. */
export type Command =
  | { do: 'create'; sessions: number }
  /** A turn in every session. Ends when all of them have. */
  | ({ do: 'speak' } & Speech)
  | { do: 'turn'; sessionId: string; message: string }
  /** Interrupts all turns. */
  | { do: 'stop' }
  /** The sessions whose agents are at work, and those that the machine has. */
  | { do: 'running' }
  | { do: 'info' }
  /** Answers when the next turn begins. */
  | { do: 'asked' }
  /** Sessions of other machines that it knows. */
  | { do: 'knows' }
  /** Reads the mirrored logs of these sessions from now on. */
  | { do: 'follow'; sessionIds: string[] }
  | { do: 'received' }
  | { do: 'machines' }
  | { do: 'takeover'; sessionId: string; to: string }
  /** Asks the agent of a session on another machine. */
  | { do: 'call'; sessionId: string; message: string }
  /** Answers as another machine that sends back what it gets. */
  | { do: 'echo'; member: Member }
  /** The parts of logs that the brokers have stored, since the stream began. */
  | { do: 'parts' }
  /** Claims a piece of work that nobody has, at the brokers. */
  | { do: 'claim'; work: string }
  | { do: 'usage' }

export interface StoredPart {
  subject: string
  from: number
  to: number
  generation: string
}

export interface Reply {
  error?: string
  sessionIds?: string[]
  cpuMs?: number
  ms?: number
  events?: number
  sizes?: Record<string, { seq: number; bytes: number }>
  running?: string[]
  readOnly?: string | null
  received?: number
  lags?: number[]
  states?: Record<string, MachineState>
  message?: string
  parts?: StoredPart[]
  claimed?: 'stored' | 'conflict' | 'unknown'
  at?: number
  /** Result and duration of a takeover. */
  steps?: StepTime[]
}
