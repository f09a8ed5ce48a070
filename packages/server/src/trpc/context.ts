import type { SessionHarness } from '@chirality/core'
import type { PersonaManager } from '@chirality/personas'
import type { HarnessRegistry, OwnAgents } from '@chirality/runner'
import type { SessionHost } from '@chirality/sessions'
import type { z } from 'zod'
import type { SignedInBrowsers } from '../browsers/signed-in-browsers.ts'
import type { demo } from '../contract/answers.ts'
import type { FleetService } from '../fleet/fleet-service.ts'
import type { SendPace } from '../http/send-pace.ts'
import type { ServerLoops } from '../loops/server-loops.ts'
import type { ServerSchedules } from '../loops/server-schedules.ts'
import type { Programs } from '../mcp/programs.ts'
import type { ProjectRegistry } from '../projects/project-registry.ts'
import type { PushService } from '../push/push-service.ts'
import type { AgentTrials } from '../system/agent-trials.ts'
import type { KeptNumbers } from '../system/kept-numbers.ts'
import type { StoppedTurns } from '../system/stopped-turns.ts'
import type { DiscardedSessions, RemovedSessions } from './discarded-sessions.ts'

/** The dependencies of every call. */
export interface AppServices {
  host: SessionHost
  harnesses: HarnessRegistry<SessionHarness>
  /** The agents that the user added by a command. */
  agents: OwnAgents
  personas: PersonaManager
  projects: ProjectRegistry
  browsers: SignedInBrowsers
  programs: Programs
  trials: AgentTrials
  push: PushService
  loops: ServerLoops
  schedules: ServerSchedules
  removed: RemovedSessions
  discarded: DiscardedSessions
  stopped: StoppedTurns
  /** The last read event of each session, in any browser. */
  readMarks: KeptNumbers
  /** The context size of each session's model, as the agent last reported it. */
  contextSizes: KeptNumbers
  facts: ServerFacts
  /** The other machines. Undefined if this server is in no fleet. */
  fleet?: FleetService
}

export interface ServerFacts {
  version: string
  startedAt: string
  address: () => string
  /** WebSockets that are open. */
  sockets: () => number
  /** All open connections, WebSockets included. */
  connections: () => number
  /** The user's data folder. */
  home: string
  /** A link that signs one more browser in. */
  newSignInLink: () => string
  /** Whether other machines can open such a link. */
  reach: () => 'this-machine' | 'network'
  demo: Demo | null
}

export type Demo = z.infer<typeof demo>

export interface CallContext extends AppServices {
  /** When the next batch of events may be sent to the caller. */
  pace: SendPace
  /** A socket accepts events as the JSON text of the log. */
  takesJson: boolean
  /** The browser that calls. Undefined for a program with the server's own token. */
  browser: string | undefined
}
