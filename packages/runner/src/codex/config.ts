import type { MemoryLimit } from '../process/system/kept-memory.ts'
import type { AgentName, TurnConfig } from '../turn/turn-program.ts'
import { CODEX_META } from './descriptor.ts'

export const CODEX: AgentName = { harnessId: CODEX_META.id, name: CODEX_META.name }

export interface CodexHarnessConfig extends TurnConfig {
  /** Path of the `codex` binary. Found by itself if not set. */
  binaryPath?: string
  /**
   * How to talk to it. `app-server` streams tokens and asks for permission; `exec` is one process a turn. Default:
   * the app-server, and `exec` where that is missing or does not answer.
   */
  voice?: 'app-server' | 'exec'
  /** `key=value` strings in TOML, passed as `-c`; they win over ours. */
  configOverrides?: string[]
  environment?: Readonly<Record<string, string | undefined>>
  /** Where prompts, schemas and images are written for a turn, and the TMPDIR of Codex. Default: TMPDIR of the environment. */
  tempDir?: string
  /** Names let through beside the allow-list. */
  allowEnvironment?: string[]
  /** How long an app-server may have nothing to do before it is ended. Default 10 min. */
  idleMs?: number
  /** How much memory app-servers may take that have nothing to do, as for every kept agent. */
  keepMemory?: MemoryLimit
  /** How many app-servers may have nothing to do at a time. Default: no limit. */
  maxIdle?: number
  /** How long a new app-server may take to answer. Default 15 s. */
  handshakeMs?: number
  /** How long an `exec` that has answered may take to exit. Default 10 s. */
  lingerMs?: number
}

/** What every way of running the agent needs to know. */
export interface CodexContext {
  config: CodexHarnessConfig
  environment: Record<string, string>
}
