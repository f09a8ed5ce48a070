import type { RemoteCall } from '@chirality/centre'
import type { PermissionRequestEvent } from '@chirality/core'
import type { Move } from '@chirality/sessions'
import type { ToldSpending } from '../spent-list.ts'

/** A message of a hub to another machine. */
export type MachineRequest =
  | ({ kind: 'call'; id: string } & RemoteCall)
  /** Asks for the result of an earlier call or step of a move. */
  | { kind: 'outcome'; id: string }
  | { kind: 'ping' }
  | { kind: 'bytes'; session: string; from: number }
  | ({ kind: 'move'; id: string } & MoveStep)
  | { kind: 'parcel'; move: string; from: number }
  | ({ kind: 'work' } & WorkStep)
  /** Spending of other machines. */
  | { kind: 'spent'; told: ToldSpending }

/** The steps of a move that a hub asks two machines for. Each step may be repeated. */
export type MoveStep =
  /** Steps for the machine that has the session. */
  | { step: 'about'; session: string }
  | { step: 'pack'; session: string; move: string; from: string; to: string; haves: string[] }
  | { step: 'leave'; session: string; move: string }
  | { step: 'keep'; session: string; move: string }
  /** Answers the move that the session waits for, or null. */
  | { step: 'leaving'; session: string }
  /** Packs a copy for the case that the machine is lost. `clones` are the commits that other machines have. */
  | { step: 'copy'; session: string; move: string; clones: string[][] }
  | { step: 'forget'; move: string }
  /** For a machine that was away while another took its session over: it gives up its part. */
  | { step: 'orphan'; session: string; move: Move; taken: Taken }
  /** Steps for the machine that gets the session. */
  | { step: 'place'; session: string; roots: string[]; prefix: string; path: string }
  | { step: 'put'; move: string; from: number; content: string }
  | { step: 'open'; session: string; move: string; sha256: string; project: string }
  | { step: 'cancel'; move: string; session: string }
  /** Answers the clones of a repository on this machine. */
  | { step: 'clones'; roots: string[]; prefix: string }
  | { step: 'say'; session: string; words: string }
  /** For both machines: reports the current state to the hubs. */
  | { step: 'tell'; session: string }

/** State of a session at the moment another machine took it over. */
export interface Taken {
  seq: number
  usd: number
  tokens: number
}

export interface CloneHere {
  project: string
  commits: string[]
  /** Why this clone was chosen, if there are several. */
  why?: string
}

export interface AboutSession {
  title: string | null
  harness: string | null
  projectRoot: string
  roots: string[]
  prefix: string
}

/** A hub's request to the machine that has the work. It may be repeated; the answer is the current state. */
export interface WorkStep {
  /** `do` starts the work unless it has started. */
  step: 'do' | 'stop'
  id: string
  epoch: number
  /** The task, for the machine's `Craft`. */
  order: unknown
}

/** State of a piece of work. `pending` is the agent's open request. */
export type WorkState = { state: 'working'; pending?: PermissionRequestEvent } | { state: 'ended' }
