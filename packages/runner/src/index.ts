export type { ClaudeCodeHarnessConfig, RunnerLogEntry } from './claude-code/config.ts'
export { ClaudeCodeHarness, type ClaudeTurnOpts } from './claude-code/harness.ts'
export type { ClaudeRequest, ClaudeResponse } from './claude-code/run-once.ts'
export { buildChildEnv } from './env/child-env.ts'
export { processEnv } from './env/process-env.ts'
export {
  type AgentProcess,
  type AgentProcessOptions,
  type ProcessExit,
  spawnAgent,
} from './process/agent-process.ts'
export { checkExecutable, resolveExecutable } from './process/resolve-executable.ts'
export { SpawnError } from './process/spawn-error.ts'
export { type SpawnJsonlOptions, spawnJsonl } from './process/spawn-jsonl.ts'
export { openSpool, type Spool } from './process/spool.ts'
export { SpoolError } from './process/spool-error.ts'
export type { StopOptions, StopReport, StopStep } from './process/stop.ts'
