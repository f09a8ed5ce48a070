export { type AcpAgentSpec, acpDescriptor, KNOWN_AGENTS } from './acp/agent-spec.ts'
export {
  acpHarnesses,
  addConfiguredAgent,
  agentsFile,
  type ConfiguredAgents,
  readConfiguredAgents,
  removeConfiguredAgent,
} from './acp/configured-agents.ts'
export type { OwnAgentsOptions } from './acp/own-agents.ts'
export { type AgentProbe, type OwnAgent, OwnAgents } from './acp/own-agents.ts'
export type { HookName } from './agent-sdk/protocol/worker-messages.ts'
export type { ClaudeArgFiles, ClaudeCodeHarnessConfig } from './claude-code/config.ts'
export { ClaudeCodeHarness } from './claude-code/harness.ts'
export { bundledClaude } from './claude-code/install/executable.ts'
export type { LookOptions } from './claude-code/install/features.ts'
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
export type { CodexSandbox } from './codex/options/permissions.ts'
export type { RunnerLogEntry } from './common/log-entry.ts'
export { ALLOW_VARIABLE } from './env/allowed-names.ts'
export { buildChildEnv, type ChildEnv, type ChildEnvOptions } from './env/child-env.ts'
export { hideEnvironment } from './env/hide-environment.ts'
export { secretValues } from './env/secrets.ts'
export { detectShellEnvironment } from './env/shell-environment.ts'
export {
  configEnvironment,
  type GitSetting,
  LIST_NAMES,
  repositoryNames,
  settingsAgainst,
} from './git/git-settings.ts'
export type { HarnessDescriptor, HarnessOptions, Trial, TrialPlace } from './harness-descriptor.ts'
export { conversationKeeper, HARNESSES, harnessMeta } from './harnesses.ts'
export type { Answer, AnswerBuilder } from './messages-api/api/answer.ts'
export type { ApiErrorFacts } from './messages-api/api/api-error.ts'
export type { OtherBlock, RedactedThinkingBlock } from './messages-api/api/messages.ts'
export type { MessagesApiHarnessConfig } from './messages-api/config.ts'
export { MessagesApiHarness, messagesApiAgent } from './messages-api/harness.ts'
export type { UnfinishedCalls } from './messages-api/loop/history.ts'
export type { ConversationKeeper } from './native-sessions/conversation-files.ts'
export type { SpoolPlace } from './process/adopt-agent.ts'
export { type AdoptAgentOptions, adoptAgent } from './process/adopt-agent.ts'
export {
  type AgentProcess,
  type AgentProcessOptions,
  type ProcessExit,
  spawnAgent,
} from './process/agent-process.ts'
export type { RpcId, RpcRequest, RpcSource } from './process/json-rpc.ts'
export type { AgentOutput, AgentOutputOptions } from './process/output/agent-output.ts'
export type { FileDamage } from './process/output/tail.ts'
export {
  checkExecutable,
  type ExecutableCheck,
  resolveExecutable,
} from './process/program/resolve-executable.ts'
export {
  type HelperOptions,
  type HelperResult,
  runHelper,
} from './process/program/run-helper.ts'
export { SpawnError, type SpawnErrorCode } from './process/program/spawn-error.ts'
export { type StartedProgram, type StartOptions, startProgram } from './process/program/start-program.ts'
export { type SpawnJsonlOptions, spawnJsonl } from './process/spawn-jsonl.ts'
export type { RawLogs } from './process/spool/log-directory.ts'
export { ensureChiralityFolder } from './process/spool/log-directory.ts'
export type { SpoolFile } from './process/spool/spool.ts'
export { isSpoolOpen, openSpool, type Spool, type SpoolOptions } from './process/spool/spool.ts'
export { SpoolError } from './process/spool/spool-error.ts'
export type { SpoolReadEnd, SpoolSource } from './process/spool/spool-source.ts'
export { makeTempFolder, newTempFolder, sweepTempFolders } from './process/spool/temp-folder.ts'
export type { StopOptions, StopReport, StopStep } from './process/stop/stop.ts'
export { type MemoryLimit, parseMemoryLimit } from './process/system/kept-memory.ts'
export {
  findAllMarked,
  findByMarker,
  MARKER_VARIABLE,
  type MarkedProcess,
  parseMarkers,
} from './process/system/leftovers.ts'
export { processEnv } from './process/system/process-env.ts'
export type { ProcessIdentity } from './process/system/process-table.ts'
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
export { type CommandOptions, type CommandResult, endMarked, runCommand } from './run-command.ts'
export { countAsTested } from './tested-releases.ts'
export { type ProbeOptions, probeToolServer, type ServerProbe } from './tool-server/probe-server.ts'
export { type ServedClientTools, serveClientTools } from './tool-server/serve-client-tools.ts'
export type { AdoptionRecord, TurnNote } from './turn/adoption-record.ts'
export type {
  Connection,
  ConnectionEnd,
  ProcessEnd,
  Requests,
  TurnParts,
  TurnPlan,
  TurnPrompt,
} from './turn/connection.ts'
export type { AgentHarness, Offered } from './turn/create-harness.ts'
export {
  type BegunTurn,
  createHarness,
  type HarnessAgent,
  type Kept,
  type NativeSessions,
  type NewTurn,
} from './turn/create-harness.ts'
export type { TurnLog } from './turn/harness-log.ts'
export type { AgentLease, KeptAgent } from './turn/kept-agents.ts'
export type { AttemptOptions, ProcessAttempt } from './turn/process-attempt.ts'
export type { AttemptSource, Candidate, ProcessTurnOptions } from './turn/process-turn.ts'
export { adoptedAttempts, processPlan, startedAttempts } from './turn/process-turn.ts'
export type { QueryOutcome } from './turn/query-process.ts'
export { type QueryProcessOptions, queryEnd, queryProcess } from './turn/query-process.ts'
export type { RpcView, SteeredTurn } from './turn/rpc-turn.ts'
export {
  type RpcAnswer,
  type RpcDialogue,
  RpcTurn,
  type RpcTurnOptions,
  type TurnMessage,
} from './turn/rpc-turn.ts'
export type { AgentEnd, ExitListener, StopReason } from './turn/turn-events.ts'
export type {
  AgentName,
  Invocation,
  ReaderOptions,
  TurnConfig,
  TurnFacts,
  TurnOutcome,
  TurnProgram,
  TurnReader,
} from './turn/turn-program.ts'
export { withAccount } from './turn/turn-query.ts'
export type { TurnStop } from './turn/turn-stop.ts'
