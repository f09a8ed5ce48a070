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
}

/** What an app gives to every harness that it makes. A harness takes what it has a use for. */
export interface HarnessOptions {
  onLog?: (entry: RunnerLogEntry) => void
  /** What the environment of the agent is filtered from. Default: that of this process. */
  environment?: Readonly<Record<string, string | undefined>>
  /** Where facts about programs are kept that are the same for every project. */
  dataFolder?: string
  /** False: every turn has a process of its own. */
  keepAlive?: boolean
  /** How much memory agents may take that are kept and have nothing to do. */
  keepMemory?: MemoryLimit
  /** Prices for agents that do not say what a turn costs. */
  prices?: () => PriceTable
}
