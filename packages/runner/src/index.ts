export { buildClaudeArgs, type ClaudeArgInput } from './claude-code/args.ts'
export type { ClaudeCodeHarnessConfig } from './claude-code/config.ts'
export { bundledClaude } from './claude-code/executable.ts'
export { ClaudeFeatures, claudeFeatures } from './claude-code/features.ts'
export { ClaudeCodeHarness } from './claude-code/harness.ts'
export { writeMcpConfigJson } from './claude-code/mcp-config.ts'
export type { RunAccount, RunEntry, RunStart } from './claude-code/run-account.ts'
export { ClaudeRunError } from './claude-code/run-error.ts'
export type { ClaudeRequest, ClaudeResponse } from './claude-code/run-once.ts'
export { isAppServerSpool } from './codex/app-server.ts'
export type { CodexHarnessConfig } from './codex/config.ts'
export { buildExecArgs as buildCodexArgs, type ExecArgInput as CodexArgInput } from './codex/exec-args.ts'
export { CodexHarness } from './codex/harness.ts'
export {
  type CodexMcpOptions,
  type CodexMcpServers,
  codexMcpServers as buildCodexMcpConfigOverrides,
} from './codex/mcp-servers.ts'
export { ThreadLines } from './codex/thread-lines.ts'
export { buildChildEnv, type ChildEnv, type ChildEnvOptions, type CredentialSet } from './env/child-env.ts'
export { hideEnvironment } from './env/hide-environment.ts'
export { processEnv } from './env/process-env.ts'
export { secretValues } from './env/secret-values.ts'
export { detectShellEnvironment } from './env/shell-environment.ts'
export type { MessagesApiHarnessConfig } from './messages-api/config.ts'
export { MessagesApiHarness } from './messages-api/harness.ts'
export { type AdoptAgentOptions, adoptAgent } from './process/adopt-agent.ts'
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
export { isEnclosing } from './process/run-group.ts'
export { SpawnError, type SpawnErrorCode } from './process/spawn-error.ts'
export { type SpawnJsonlOptions, spawnJsonl } from './process/spawn-jsonl.ts'
export { openSpool, type Spool, type SpoolOptions } from './process/spool.ts'
export { errnoOf, SpoolError, type SpoolErrorCode } from './process/spool-error.ts'
export type { StopOptions, StopReport, StopStep } from './process/stop.ts'
export { stopByMarker, stopTraced } from './process/stop-leftovers.ts'
export { traceProcess } from './process/trace-process.ts'
export { HarnessRegistry } from './registry.ts'
export type { RunnerLogEntry } from './turn/log-entry.ts'
export { sweepTempFolders } from './turn/temp-folder.ts'
