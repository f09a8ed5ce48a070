import type { StopOptions } from '../process/stop.ts'

export const HARNESS_ID = 'claude-code'

export interface ClaudeCodeHarnessConfig {
  /** Path of the `claude` binary. Found by itself if not set. */
  binaryPath?: string
  /** Sets the variables that switch telemetry and error reports off. Default true. */
  disableTelemetry?: boolean
  /** With a model chosen, sub-agents use the same one. Default true. */
  forceSubagentModel?: boolean
  /** Which settings files count. Default user, project and local; [] isolates the agent from all of them. */
  settingSources?: ('user' | 'project' | 'local')[]
  /** Environment the child's is filtered from. Default: that of this process. */
  environment?: Record<string, string>
  /** Names let through beside the allow-list. */
  allowEnvironment?: string[]
  /** How long each step of stopping an agent may take. */
  stop?: Pick<StopOptions, 'interruptGraceMs' | 'termGraceMs' | 'killGraceMs'>
  /** How long an agent that has answered may stay silent before its process is ended. Default 10 s. */
  lingerMs?: number
  /** Lines for the harness log: spawn, stderr, parse errors, exit. */
  onLog?: (entry: RunnerLogEntry) => void
}

export interface RunnerLogEntry {
  level: 'debug' | 'info' | 'warn' | 'error'
  event: string
  sessionId?: string
  data?: Record<string, unknown>
}

/** What every way of running the agent needs to know. */
export interface ClaudeContext {
  config: ClaudeCodeHarnessConfig
  environment: Record<string, string>
}
