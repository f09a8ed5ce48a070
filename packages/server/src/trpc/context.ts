import type { SessionHarness } from '@chirality/core'
import type { PersonaManager } from '@chirality/personas'
import type { HarnessRegistry } from '@chirality/runner'
import type { SessionHost } from '@chirality/sessions'
import type { z } from 'zod'
import type { SignedInBrowsers } from '../browsers/signed-in-browsers.ts'
import type { TurnChanges } from '../changes/turn-changes.ts'
import type { demo } from '../contract/answers.ts'
import type { SendPace } from '../http/send-pace.ts'
import type { ProjectRegistry } from '../projects/project-registry.ts'
import type { KeptNumbers } from '../system/kept-numbers.ts'
import type { StoppedTurns } from '../system/stopped-turns.ts'

/** What every call works with. */
export interface AppServices {
  host: SessionHost
  harnesses: HarnessRegistry<SessionHarness>
  personas: PersonaManager
  projects: ProjectRegistry
  changes: TurnChanges
  browsers: SignedInBrowsers
  removed: RemovedSessions
  stopped: StoppedTurns
  /** Up to which event each session was read, in whichever browser. */
  readMarks: KeptNumbers
  /** How large the context of each session's model is, as the agent last said. */
  contextSizes: KeptNumbers
  facts: ServerFacts
}

export interface ServerFacts {
  version: string
  startedAt: string
  address: () => string
  /** WebSockets that are open. */
  sockets: () => number
  /** All connections, those included. */
  connections: () => number
  /** The user's data folder. */
  home: string
  /** A link that signs one more browser in. */
  newSignInLink: () => string
  demo: Demo | null
}

export type Demo = z.infer<typeof demo>

export interface CallContext extends AppServices {
  /** When the next batch of events may be sent to the one who called. */
  pace: SendPace
  /** A socket takes events as the JSON that they are in the log. */
  takesJson: boolean
}

/** Who wants to know that a session is gone. */
export class RemovedSessions {
  readonly #listeners = new Set<(sessionId: string) => void>()

  tell(sessionId: string): void {
    for (const listener of [...this.#listeners]) listener(sessionId)
  }

  onRemoved(listener: (sessionId: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
