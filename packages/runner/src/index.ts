export type { ClaudeCodeHarnessConfig } from './claude-code/config.ts'
export { bundledClaude } from './claude-code/executable.ts'
export { ClaudeCodeHarness } from './claude-code/harness.ts'
export { ClaudeRunError } from './claude-code/run-error.ts'
export type { ClaudeRequest, ClaudeResponse } from './claude-code/run-once.ts'
export type { CodexHarnessConfig } from './codex/config.ts'
export { CodexHarness } from './codex/harness.ts'
export { buildChildEnv, type ChildEnv, type ChildEnvOptions, type CredentialSet } from './env/child-env.ts'
export { processEnv } from './env/process-env.ts'
export { detectShellEnvironment } from './env/shell-environment.ts'
export type { AgentOutput } from './process/agent-output.ts'
export {
  type AgentProcess,
  type AgentProcessOptions,
  type ProcessExit,
  spawnAgent,
} from './process/agent-process.ts'
export { findAllMarked, findByMarker, MARKER_VARIABLE, type MarkedProcess } from './process/leftovers.ts'
export { ensurePrivateDirectory } from './process/private-directory.ts'
export { type ProcessEntry, readProcess } from './process/process-table.ts'
export { checkExecutable, type ExecutableCheck, resolveExecutable } from './process/resolve-executable.ts'
export { SpawnError, type SpawnErrorCode } from './process/spawn-error.ts'
export { type SpawnJsonlOptions, spawnJsonl } from './process/spawn-jsonl.ts'
export { openSpool, type Spool, type SpoolOptions } from './process/spool.ts'
export { errnoOf, SpoolError, type SpoolErrorCode } from './process/spool-error.ts'
export type { StopOptions, StopReport, StopStep } from './process/stop.ts'
export { HarnessRegistry } from './registry.ts'
export type { RunnerLogEntry } from './turn/log-entry.ts'
