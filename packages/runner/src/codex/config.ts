import type { RunnerLogEntry } from '../claude-code/config.ts'
import type { StopOptions } from '../process/stop.ts'

export const HARNESS_ID = 'codex'

export interface CodexHarnessConfig {
  /** Path of the `codex` binary. Found by itself if not set. */
  binaryPath?: string
  /**
   * How to talk to it. `app-server` streams tokens and asks for permission; `exec` is one process a turn. Default:
   * the app-server, and `exec` where that is missing or does not answer.
   */
  voice?: 'app-server' | 'exec'
  /** `key=value` strings in TOML, passed as `-c`; they win over ours. */
  configOverrides?: string[]
  environment?: Record<string, string>
  /** Names let through beside the allow-list. */
  allowEnvironment?: string[]
  stop?: Pick<StopOptions, 'interruptGraceMs' | 'termGraceMs' | 'killGraceMs'>
  /** How long an app-server without a turn is kept. Default 10 min. */
  idleMs?: number
  onLog?: (entry: RunnerLogEntry) => void
}

/** What every way of running the agent needs to know. */
export interface CodexContext {
  config: CodexHarnessConfig
  environment: Record<string, string>
}
