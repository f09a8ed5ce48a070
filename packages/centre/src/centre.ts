import type { SessionHarness } from '@chirality/core'
import type { PersonaManager } from '@chirality/personas'
import type { HarnessRegistry, OwnAgents } from '@chirality/runner'
import type { SessionHost } from '@chirality/sessions'
import type { z } from 'zod'
import type { ProjectLoops } from './loops/project-loops.ts'
import type { ProjectSchedules } from './loops/project-schedules.ts'
import type { FleetService } from './machines.ts'
import type { ProgramScope, Programs } from './programs/programs.ts'
import type { ProjectRegistry } from './projects/project-registry.ts'
import type { PushService } from './push/push-service.ts'
import type { DiscardedSessions, RemovedSessions } from './sessions/discarded-sessions.ts'
import type { demo, SignedInBrowser } from './shapes/sessions.ts'
import type { AgentTrials } from './system/agent-trials.ts'
import type { KeptNumbers } from './system/kept-numbers.ts'
import type { StoppedTurns } from './system/stopped-turns.ts'

/** The application: all that calls work with. `createCentre` makes it. */
export interface Centre {
  host: SessionHost
  harnesses: HarnessRegistry<SessionHarness>
  /** The agents that the user added by a command. */
  agents: OwnAgents
  personas: PersonaManager
  projects: ProjectRegistry
  programs: Programs
  trials: AgentTrials
  push: PushService
  loops: ProjectLoops
  schedules: ProjectSchedules
  removed: RemovedSessions
  discarded: DiscardedSessions
  stopped: StoppedTurns
  /** The last read event of each session, in any browser. */
  readMarks: KeptNumbers
  /** The context size of each session's model, as the agent last reported it. */
  contextSizes: KeptNumbers
  /** The user's data folder. */
  home: string
  version: string
  startedAt: string
  demo: Demo | null
  entrance: Entrance
  /** The other machines. Undefined if this one is in no fleet. */
  machines: FleetService | undefined
}

export type Demo = z.infer<typeof demo>

/** The way in from outside: what a server knows and does for the calls of its centre. */
export interface Entrance {
  /** The address for this machine. */
  address: string
  /** WebSockets that are open. */
  sockets(): number
  /** All open connections, WebSockets included. */
  connections(): number
  /** A link that signs one more browser in, how long it is good, and whether other machines can open it. */
  newSignInLink(): { url: string; minutes: number; reach: 'this-machine' | 'network' }
  /** A token with which a program uses the sessions of one project. */
  newProgramToken(scope: ProgramScope): { url: string; token: string }
  browsers(): Promise<SignedInBrowser[]>
  /** The browsers that stay signed in, whether or not this server runs. */
  remembered(): Promise<readonly { id: string }[]>
  /** Signs a browser out. False if there is no such browser. */
  revokeBrowser(id: string): Promise<boolean>
  /** Whether a browser signed in at an address of this machine. */
  isThisMachine(browserId: string): Promise<boolean>
}
