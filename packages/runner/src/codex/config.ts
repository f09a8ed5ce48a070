import type { MemoryLimit } from '../process/system/kept-memory.ts'
import type { AgentName, TurnConfig } from '../turn/turn-program.ts'
import { CODEX_META } from './descriptor.ts'

export const CODEX: AgentName = { harnessId: CODEX_META.id, name: CODEX_META.name }

export interface CodexHarnessConfig extends TurnConfig {
  /** Path of the `codex` binary. Looked up if not set. */
  binaryPath?: string | undefined
  /**
   * How to talk to it. `app-server` streams tokens and sends permission requests; `exec` is one process for each turn.
   * Default: the app-server, and `exec` if it is missing or does not answer.
   */
  voice?: 'app-server' | 'exec' | undefined
  /** `key=value` strings in TOML, passed as `-c`; they override the harness's own. */
  configOverrides?: string[] | undefined
  environment?: Readonly<Record<string, string | undefined>>
  /**
   * The folder for a turn's prompts, schemas and images, and the TMPDIR of Codex. Default: TMPDIR of the environment.
   */
  tempDir?: string | undefined
  /** Variable names that pass the filter in addition to the allow-list. */
  allowEnvironment?: string[] | undefined
  /** How long an app-server may be idle before it is ended. Default 10 min. */
  idleMs?: number | undefined
  /** How much memory idle app-servers may use, as for every kept agent. */
  keepMemory?: MemoryLimit | undefined
  /** How many app-servers may be idle at a time. Default: no limit. */
  maxIdle?: number | undefined
  /** How long a new app-server may take to answer. Default 15 s. */
  handshakeMs?: number | undefined
  /** How long an `exec` that has answered may take to exit. Default 10 s. */
  lingerMs?: number | undefined
}

/** The configuration that every way of running the agent needs. */
export interface CodexContext {
  config: CodexHarnessConfig
  environment: Record<string, string>
}
