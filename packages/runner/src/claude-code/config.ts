import type { HarnessQuery } from '@chirality/core'
import { type AgentProcess, spawnAgent } from '../process/agent-process.ts'
import type { Spool } from '../process/spool/spool.ts'
import type { MemoryLimit } from '../process/system/kept-memory.ts'
import type { AgentRelease } from '../turn/agent-version.ts'
import type { AgentName, Invocation, TurnConfig } from '../turn/turn-program.ts'
import { CLAUDE_META, CLAUDE_VERSIONS } from './descriptor.ts'
import type { ClaudeFeatures } from './install/features.ts'
import type { RunAccount } from './run/run-account.ts'
import type { GuardHook } from './warm/guard-hook.ts'

/** A name, and how to get what it stands for. */
export interface ClaudeAgentName extends AgentName {
  install: string
}

export const CLAUDE_CODE: ClaudeAgentName = {
  harnessId: CLAUDE_META.id,
  name: CLAUDE_META.name,
  install: `Install it with \`${CLAUDE_META.install}\`, or set CHIRALITY_CLAUDE_BIN to the binary.`,
}

export interface ClaudeCodeHarnessConfig extends TurnConfig {
  /** Path of the `claude` binary. Found by itself if not set. */
  binaryPath?: string
  /** Sets the variables that switch telemetry and error reports off. Default true. */
  disableTelemetry?: boolean
  /** With a model chosen, sub-agents use the same one. Default true. */
  forceSubagentModel?: boolean
  /**
   * Which settings files count, whatever a turn says; [] isolates the agent from all of them. Default: the user's, and with
   * `trustProject` also those of the project. With `project` or `local` here the agent runs what any folder it is
   * started in brings along: hooks, MCP servers, helpers, addresses for the user's key.
   */
  settingSources?: ('user' | 'project' | 'local')[]
  /** Environment the child's is filtered from. Default: that of this process. */
  environment?: Readonly<Record<string, string | undefined>>
  /** Names let through beside the allow-list. */
  allowEnvironment?: string[]
  /** How long an agent that has answered may stay silent before its process is ended. Default 10 s. */
  lingerMs?: number
  /** Keeps the agent between the turns of a session. Default true; without it every turn starts a process. */
  keepAlive?: boolean
  /** How long a turn in a kept agent waits for commands that it left in the background. Default 2 min. */
  backgroundMs?: number
  /** How long a kept agent may have nothing to do before it is ended. Default 10 min. */
  idleMs?: number
  /**
   * How much memory kept agents may take that have nothing to do; the least recently used is ended first, and the last one stays
   * unless it is 0. Default: a quarter of what would be free without them.
   */
  keepMemory?: MemoryLimit
  /** How many kept agents may have nothing to do at a time, whatever they take. Default: no limit. */
  maxIdle?: number
  /** Counts what `run()` spends, and stops it at a budget. Without one nobody does. Turns are counted by their host. */
  account?: RunAccount
}

/** What every way of running the agent needs to know. */
export interface ClaudeContext {
  config: ClaudeCodeHarnessConfig
  environment: Record<string, string>
  /** Which harness this is, and how it starts an agent that it keeps. Default: Claude Code itself. */
  variant?: ClaudeVariant
}

/** The command without a prompt. */
export interface Launch extends Omit<Invocation, 'stdin' | 'promptText' | 'attachments'> {
  /** As it was asked, with the tools and servers that were added. */
  query: HarnessQuery
  files: ClaudeArgFiles
  features: ClaudeFeatures
  /** What has to be asked before each call of a tool. */
  guard?: GuardHook
}

/** A harness that is Claude Code but for how the agent is started and what it is called. */
export interface ClaudeVariant {
  agent: ClaudeAgentName
  /** Its own way of starting the agent registers the hook of a guard. Otherwise `initialize` does. */
  registersGuard?: boolean
  /** Given up as soon as the signal says so: it rejects then, and leaves nothing running. */
  start(launch: Launch, spool: Spool, signal: AbortSignal): Promise<AgentProcess>
  /** What runs, for the mark beside a release that no test runs. */
  version(features: ClaudeFeatures): AgentRelease
}

export const PLAIN_VARIANT: ClaudeVariant = {
  agent: CLAUDE_CODE,
  version: ({ version }) => ({ version, versions: CLAUDE_VERSIONS, name: CLAUDE_CODE.name }),
  start: ({ command, args, env, cwd }, spool) =>
    spawnAgent({ command, args, env, cwd, spool, keepInputOpen: true }),
}

/** Files that carry what must not be in argv: long texts (E2BIG at 128 KB) and secrets (argv is public). */
export interface ClaudeArgFiles {
  systemPrompt?: string
  appendSystemPrompt?: string
  mcpConfig?: string
}
