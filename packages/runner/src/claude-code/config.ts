import type { HarnessQuery, ThinkingLevel } from '@chirality/core'
import { type AgentProcess, spawnAgent } from '../process/agent-process.ts'
import type { Spool } from '../process/spool/spool.ts'
import type { MemoryLimit } from '../process/system/kept-memory.ts'
import type { AgentRelease } from '../turn/agent-version.ts'
import type { AgentName, Invocation, TurnConfig } from '../turn/turn-program.ts'
import { CLAUDE_META, CLAUDE_VERSIONS } from './descriptor.ts'
import type { ClaudeFeatures } from './install/features.ts'
import type { RunAccount } from './run/run-account.ts'
import type { GuardHook } from './warm/guard-hook.ts'

/** A program's name, and the command that installs it. */
export interface ClaudeAgentName extends AgentName {
  install: string
}

export const CLAUDE_CODE: ClaudeAgentName = {
  harnessId: CLAUDE_META.id,
  name: CLAUDE_META.name,
  install: `Install it with \`${CLAUDE_META.install}\`, or set CHIRALITY_CLAUDE_BIN to the binary.`,
}

export interface ClaudeCodeHarnessConfig extends TurnConfig {
  /** Path of the `claude` binary. Looked up if not set. */
  binaryPath?: string | undefined
  /** Sets the variables that switch telemetry and error reports off. Default true. */
  disableTelemetry?: boolean | undefined
  /** With a model chosen, sub-agents use the same one. Default true. */
  forceSubagentModel?: boolean | undefined
  /**
   * Which settings files the agent reads, for every turn; [] isolates the agent from all of them. Default: the user's,
   * and with `trustProject` also the project's. With `project` or `local` here the agent runs the hooks, MCP servers
   * and helpers of every folder it is started in, and sends the user's key to the addresses set there.
   */
  settingSources?: ('user' | 'project' | 'local')[] | undefined
  /** The environment that the child's is filtered from. Default: that of this process. */
  environment?: Readonly<Record<string, string | undefined>>
  /** Variable names that pass the filter in addition to the allow-list. */
  allowEnvironment?: string[] | undefined
  /** How long an agent that has answered may stay silent before its process is killed. Default 10 s. */
  lingerMs?: number | undefined
  /** Keeps the agent between the turns of a session. Default true; without it every turn starts a process. */
  keepAlive?: boolean | undefined
  /** How long a turn in a kept agent waits for commands that it left in the background. Default 2 min. */
  backgroundMs?: number | undefined
  /** How long a kept agent may be idle before it is ended. Default 10 min. */
  idleMs?: number | undefined
  /**
   * How much memory idle kept agents may use; the least recently used is ended first, and the last one stays unless the
   * limit is 0. Default: a quarter of the memory that would be free without them.
   */
  keepMemory?: MemoryLimit | undefined
  /** How many kept agents may be idle at a time, whatever their memory. Default: no limit. */
  maxIdle?: number | undefined
  /**
   * Counts the cost of `run()` and stops it at a budget. Without it runs have no budget. The host counts the cost of
   * turns.
   */
  account?: RunAccount | undefined
}

/** The configuration that every way of running the agent needs. */
export interface ClaudeContext {
  config: ClaudeCodeHarnessConfig
  environment: Record<string, string>
  /** The harness that uses this configuration, and how it starts a kept agent. Default: Claude Code itself. */
  variant?: ClaudeVariant | undefined
}

/** The command without a prompt. */
export interface Launch extends Omit<Invocation, 'stdin' | 'promptText' | 'attachments'> {
  /** The query, with the added tools and servers. */
  query: HarnessQuery
  files: ClaudeArgFiles
  features: ClaudeFeatures
  /** The guard that checks each tool call before it runs. */
  guard?: GuardHook | undefined
}

/** A harness that runs Claude Code under another name, and starts the agent in its own way. */
export interface ClaudeVariant {
  agent: ClaudeAgentName
  /** The variant's own start registers the guard's hook. Otherwise `initialize` does. */
  registersGuard?: boolean | undefined
  /** Rejects as soon as the signal is aborted, and leaves no process running then. */
  start(launch: Launch, spool: Spool, signal: AbortSignal): Promise<AgentProcess>
  /** The program's name in the notice about a release that no test runs. */
  version(features: ClaudeFeatures): AgentRelease
}

export const PLAIN_VARIANT: ClaudeVariant = {
  agent: CLAUDE_CODE,
  version: ({ version }) => ({ version, versions: CLAUDE_VERSIONS, name: CLAUDE_CODE.name }),
  start: ({ command, args, env, cwd, cage }, spool) =>
    spawnAgent({ command, args, env, cwd, cage, spool, keepInputOpen: true }),
}

/** Files for input that must not be in argv: long texts (E2BIG at 128 KB) and secrets (other users can read argv). */
export interface ClaudeArgFiles {
  systemPrompt?: string | undefined
  appendSystemPrompt?: string | undefined
  mcpConfig?: string | undefined
}

/** The agent runs a folder's settings without asking, so they are read only if the user trusts the project. */
export function settingSources(
  { trustProject }: Pick<HarnessQuery, 'trustProject'>,
  config: ClaudeCodeHarnessConfig,
): string[] {
  return config.settingSources ?? (trustProject ? ['user', 'project', 'local'] : ['user'])
}

/** Set for every start of the CLI, also for a start that only asks for its version. */
export function telemetryEnv({ disableTelemetry }: ClaudeCodeHarnessConfig): Record<string, string> {
  return disableTelemetry === false ? {} : { DISABLE_TELEMETRY: '1', DISABLE_ERROR_REPORTING: '1' }
}

/** The agent's word for each level, and the specification's tokens for models that know no word. */
export const CLAUDE_THINKING: Readonly<Record<ThinkingLevel, { effort: string; tokens: number }>> = {
  low: { effort: 'low', tokens: 3000 },
  med: { effort: 'medium', tokens: 5000 },
  high: { effort: 'high', tokens: 10_000 },
  xhigh: { effort: 'xhigh', tokens: 20_000 },
  max: { effort: 'max', tokens: 31_999 },
  ultracode: { effort: 'ultracode', tokens: 20_000 },
}
