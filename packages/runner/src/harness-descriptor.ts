import type { HarnessCapabilities, HarnessMeta, PriceTable, SessionHarness } from '@chirality/core'
import type { RunnerLogEntry } from './common/log-entry.ts'
import type { MemoryLimit } from './process/system/kept-memory.ts'

/** A harness before its code is loaded: what is said of it, and how it is made. One in each harness's folder. */
export interface HarnessDescriptor {
  readonly meta: HarnessMeta
  /** With the options that an app gives by default. */
  readonly capabilities: HarnessCapabilities
  /** Loads the code of the harness: a command that does not run the agent need not read it. */
  create(options?: HarnessOptions): Promise<SessionHarness>
  /** How the agent is run against a model on loopback, with nothing of the user's. Undefined: it cannot be. */
  readonly trial?: Trial | undefined
}

/** What it takes to try an agent without an account, the network or the user's own settings. */
export interface Trial {
  /** Writes the agent's settings into the given folders, and gives the variables that it needs beside PATH, HOME and TMPDIR. */
  prepare(place: TrialPlace): Promise<Record<string, string>>
  /** What a call of the agent's command tool needs beside the command, so that somebody is asked about it. */
  asking?: Record<string, unknown> | undefined
}

export interface TrialPlace {
  /** The model: its address, and the one for clients of OpenAI, ending in `/v1`. */
  url: string
  openaiUrl: string
  /** Empty folders of the trial's own. */
  home: string
  project: string
}

/** What an app gives to every harness that it makes. A harness takes what it has a use for. */
export interface HarnessOptions {
  onLog?: ((entry: RunnerLogEntry) => void) | undefined
  /** What the environment of the agent is filtered from. Default: that of this process. */
  environment?: Readonly<Record<string, string | undefined>>
  /** The agent's program. Default: the one that is found. */
  binaryPath?: string | undefined
  /** Where facts about programs are kept that are the same for every project. */
  dataFolder?: string | undefined
  /** False: every turn has a process of its own. */
  keepAlive?: boolean | undefined
  /** How much memory agents may take that are kept and have nothing to do. */
  keepMemory?: MemoryLimit | undefined
  /** Prices for agents that do not say what a turn costs. */
  prices?: (() => PriceTable) | undefined
}
