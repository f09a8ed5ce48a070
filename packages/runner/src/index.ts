export { type AcpAgentSpec, acpDescriptor, KNOWN_AGENTS } from './acp/agent-spec.ts'
export {
  acpHarnesses,
  addConfiguredAgent,
  agentsFile,
  type ConfiguredAgents,
  readConfiguredAgents,
  removeConfiguredAgent,
} from './acp/configured-agents.ts'
export { type AgentProbe, type OwnAgent, OwnAgents } from './acp/own-agents.ts'
export type { ClaudeCodeHarnessConfig } from './claude-code/config.ts'
export { ClaudeCodeHarness } from './claude-code/harness.ts'
export { bundledClaude } from './claude-code/install/executable.ts'
export { ClaudeFeatures, claudeFeatures } from './claude-code/install/features.ts'
export { buildClaudeArgs, type ClaudeArgInput } from './claude-code/launch/args.ts'
export { writeMcpConfigJson } from './claude-code/launch/temp-files.ts'
export type { RunAccount, RunEntry, RunStart } from './claude-code/run/run-account.ts'
export { ClaudeRunError } from './claude-code/run/run-account.ts'
export type { ClaudeRequest, ClaudeResponse } from './claude-code/run/run-once.ts'
export { isAppServerSpool } from './codex/app-server/app-server.ts'
export { ThreadLines } from './codex/app-server/thread-families.ts'
export type { CodexHarnessConfig } from './codex/config.ts'
export {
  buildExecArgs as buildCodexArgs,
  type ExecArgInput as CodexArgInput,
} from './codex/exec/exec-args.ts'
export { CodexHarness } from './codex/harness.ts'
export {
  type CodexMcpOptions,
  type CodexMcpServers,
  codexMcpServers as buildCodexMcpConfigOverrides,
} from './codex/options/mcp-servers.ts'
export { errnoOf } from './common/errno.ts'
export type { RunnerLogEntry } from './common/log-entry.ts'
export { ALLOW_VARIABLE } from './env/allowed-names.ts'
export { buildChildEnv, type ChildEnv, type ChildEnvOptions } from './env/child-env.ts'
export { hideEnvironment } from './env/hide-environment.ts'
export { secretValues } from './env/secrets.ts'
export { detectShellEnvironment } from './env/shell-environment.ts'
export type { HarnessDescriptor, HarnessOptions, Trial, TrialPlace } from './harness-descriptor.ts'
export { conversationKeeper, HARNESSES, harnessMeta } from './harnesses.ts'
export type { MessagesApiHarnessConfig } from './messages-api/config.ts'
export { MessagesApiHarness, messagesApiAgent } from './messages-api/harness.ts'
export { type AdoptAgentOptions, adoptAgent } from './process/adopt-agent.ts'
export {
  type AgentProcess,
  type AgentProcessOptions,
  type ProcessExit,
  spawnAgent,
} from './process/agent-process.ts'
export type { AgentOutput } from './process/output/agent-output.ts'
export {
  checkExecutable,
  type ExecutableCheck,
  resolveExecutable,
} from './process/program/resolve-executable.ts'
export { SpawnError, type SpawnErrorCode } from './process/program/spawn-error.ts'
export { type CommandOptions, type CommandResult, endMarked, runCommand } from './process/run-command.ts'
export { type SpawnJsonlOptions, spawnJsonl } from './process/spawn-jsonl.ts'
export { ensureChiralityFolder } from './process/spool/log-directory.ts'
export { ensurePrivateDirectory } from './process/spool/private-directory.ts'
export { isSpoolOpen, openSpool, type Spool, type SpoolOptions } from './process/spool/spool.ts'
export { SpoolError, type SpoolErrorCode } from './process/spool/spool-error.ts'
export { makeTempFolder, newTempFolder, sweepTempFolders } from './process/spool/temp-folder.ts'
export type { StopOptions, StopReport, StopStep } from './process/stop/stop.ts'
export { type MemoryLimit, parseMemoryLimit } from './process/system/kept-memory.ts'
export {
  findAllMarked,
  findByMarker,
  MARKER_VARIABLE,
  type MarkedProcess,
} from './process/system/leftovers.ts'
export { processEnv } from './process/system/process-env.ts'
export {
  type ProcessEntry,
  type ProcessUsage,
  readProcess,
  readUsage,
  sendSignal,
  stillRunning,
} from './process/system/process-table.ts'
export { enclose, isEnclosing } from './process/system/run-group.ts'
export { stopByMarker, stopTraced, traceProcess } from './process/traced-process.ts'
export { HarnessRegistry } from './registry.ts'
export { type ProbeOptions, probeToolServer, type ServerProbe } from './tool-server/probe-server.ts'
export type {
  Connection,
  ConnectionEnd,
  ProcessEnd,
  Requests,
  TurnParts,
  TurnPlan,
  TurnPrompt,
} from './turn/connection.ts'
export {
  type BegunTurn,
  createHarness,
  type HarnessAgent,
  type Kept,
  type NativeSessions,
  type NewTurn,
} from './turn/create-harness.ts'
export { adoptedAttempts, processPlan, startedAttempts } from './turn/process-turn.ts'
export type {
  AgentName,
  Invocation,
  ReaderOptions,
  TurnConfig,
  TurnOutcome,
  TurnProgram,
  TurnReader,
} from './turn/turn-program.ts'
export { withAccount } from './turn/turn-query.ts'
