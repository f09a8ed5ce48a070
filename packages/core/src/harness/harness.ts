// The contract between Chirality and any coding agent.

import type { PermissionRequestEvent, UIEvent } from '../events/ui-event.ts'
import type { HarnessId, Session, TurnOpts } from '../session/session.ts'
import type { Guard, GuardRule, PermissionDecision } from './decision.ts'
import type { HarnessMeta } from './harness-meta.ts'
import type { ImportedSession, ListNativeSessionsOptions, NativeSession } from './native-session.ts'
import type { TurnProcess, TurnTrace } from './turn-trace.ts'
import type { VersionSupport } from './versions.ts'

/** An adapter that runs one kind of agent. `M` is the agent's own event type: nothing native is lost. */
export interface Harness<M = unknown> {
  readonly id: HarnessId

  // Discovery: synchronous, cheap, no I/O.
  meta(): HarnessMeta
  models(): HarnessModel[]
  capabilities(): HarnessCapabilities

  /** Whether the agent is installed and has a credential. Spends no tokens. */
  checkInstallStatus(): Promise<HarnessInstallStatus>

  /** What can be typed after a slash in this folder. Spends no tokens. */
  discoverSlashCommands(
    cwd: string,
    signal?: AbortSignal,
    opts?: Pick<HarnessQuery, 'trustProject'>,
  ): Promise<SlashCommand[]>

  /**
   * What the folder brings along that the agent would run, or take addresses from, and uses only in a turn with
   * `trustProject`. Missing where a project has no such say.
   */
  projectFiles?(cwd: string): Promise<ProjectFiles>

  /**
   * Runs one turn. Throws a HarnessError for what is wrong before the start (no binary, bad query); what goes wrong
   * later is an `error` event. When `signal` fires the agent is stopped, with everything it started, and the
   * generator returns.
   */
  query(query: HarnessQuery): AsyncGenerator<HarnessEvent<M>>
}

/** A harness that also runs the turns of sessions and shows them as UI events. */
export interface SessionHarness<M = unknown> extends Harness<M> {
  /**
   * One turn. Starts when the first event is asked for, and rejects then if the session has a turn running or the
   * turn cannot start. From `turn:start` on every way out is an event; leaving the loop early stops the agent.
   */
  startTurn(session: Session, userMessage: string, opts?: HarnessTurnOpts): TurnEvents

  /** Like Ctrl-C. If the agent does not heed it, it is ended all the same. */
  interrupt(sessionId: string): void

  /**
   * Ends the session's turn and its agent now, with everything that the agent started; also an agent that is kept while no
   * turn runs. Resolves when nothing of it runs any more, also when nobody reads its events. The next turn starts the agent
   * again.
   */
  kill(sessionId: string): Promise<void>

  /** `kill`, and what was remembered of the session is forgotten, too: it is deleted, or goes to another program. */
  release(sessionId: string): Promise<void>

  /** Whether a turn runs. An agent that is kept between turns and does nothing is not running. */
  isRunning(sessionId: string): boolean

  /**
   * All that a turn of an earlier Chirality printed, from its beginning, and then what it still prints: the same events
   * that `startTurn` gave, up to `turn:end`. Whoever has some of them already skips those. A turn whose process is gone
   * ends as its last words say. Without this a turn ends with the program that ran it.
   */
  adoptTurn?(session: Session, trace: TurnTrace, opts?: AdoptTurnOpts): TurnEvents

  /** Gives a message to the turn that is running. False when it is too late, and nothing was sent. */
  steer?(sessionId: string, message: string, images?: PromptPart[]): Promise<boolean>

  /** Which rules of the user this agent cannot be held to in a mode, each as a sentence for people. Missing: it is held to all. */
  unheldRules?(rules: readonly GuardRule[], mode: PermissionMode): string[]

  /** Starts the agent ahead of the first message, and tells `onProcess` of it. Does nothing more when it is there already. */
  prewarm?(session: Session, opts?: HarnessTurnOpts): Promise<void>

  /** For the turn that is running and those to come. */
  setPermissionMode?(sessionId: string, mode: PermissionMode): Promise<void>

  /** How full the model's context is, by the agent's own account. Undefined when it is not there to ask. */
  contextUsage?(sessionId: string): Promise<ContextUsage | undefined>

  /** Ends whatever the harness keeps alive between turns. */
  close(): Promise<void>

  /** The conversations that the agent keeps, newest first, also those that were started without us. */
  listNativeSessions?(options?: ListNativeSessionsOptions): Promise<NativeSession[]>

  /** One of them as a session of ours, with its history. `cwd` is where it is looked for first. Changes nothing. */
  importSession?(nativeSessionId: string, cwd?: string): Promise<ImportedSession>
}

/** The events of a turn, one at a time. A plain async generator is one. */
export interface TurnEvents extends AsyncGenerator<UIEvent> {
  /** The same, as they were read: what came together stays together. Instead of reading them one at a time, not beside it. */
  batches?(): AsyncGenerator<UIEvent[]>
}

/** In batches as large as the harness gives them. */
export function turnBatches(events: TurnEvents): AsyncGenerator<UIEvent[]> {
  return events.batches?.() ?? oneByOne(events)
}

async function* oneByOne(events: TurnEvents): AsyncGenerator<UIEvent[]> {
  for await (const event of events) yield [event]
}

/** What a turn can be given beyond the specification's options. A harness refuses what it cannot do. */
export interface HarnessTurnOpts extends Omit<TurnOpts, 'permissionMode' | 'maxTurns'> {
  turnId?: string
  /** Null: as many as it takes. Left out it is the specification's 25. */
  maxTurns?: number | null
  /** `bypassPermissions` is for those who ask for it by name. */
  permissionMode?: PermissionMode
  /** Images, and texts between them, that follow the message. */
  images?: PromptPart[]
  model?: string
  fallbackModel?: string
  thinking?: HarnessQuery['thinking']
  maxBudgetUsd?: number
  mcpServers?: Record<string, McpServerConfig>
  clientTools?: ClientToolDefinition[]
  /** How long the handler of a client tool may take. Default a day: it may ask a person. */
  clientToolTimeoutMs?: number
  additionalDirectories?: string[]
  /** As in a query. */
  trustProject?: boolean
  forkSession?: boolean
  /** As in a query. */
  forkAt?: string
  /** As in a query. */
  account?: string
  /** A wish: the id for a new conversation, where the agent lets one choose. `session:init` says what it became. */
  newSessionId?: string
  outputSchema?: JsonSchema
  env?: Record<string, string>
  /** Answers what the agent asks. Without it, and when it throws, the answer is no. */
  decide?: (request: PermissionRequestEvent, signal: AbortSignal) => Promise<PermissionDecision>
  /**
   * Asked before every call of a tool, also before those that the agent would not ask about: in every permission mode, for
   * tools that are approved beforehand, and with all checks off. When it throws, the call is denied.
   */
  guard?: Guard
  /** Told of each process that prints for this turn, as soon as it runs. With it `adoptTurn` finds the turn again. */
  onProcess?: (process: TurnProcess) => void
  /** Stops the turn; a reason named TimeoutError makes it end as `timeout`. */
  signal?: AbortSignal
  /** Silence after which the user is told. */
  stallMs?: number
}

/** What the one who adopts a turn can say about it; the rest was decided when it started. */
export type AdoptTurnOpts = Pick<HarnessTurnOpts, 'decide' | 'signal' | 'stallMs' | 'onProcess'>

export interface ContextUsage {
  usedTokens: number
  maxTokens: number
}

/** Files of a folder that have a say in what runs. */
export interface ProjectFiles {
  files: ProjectFile[]
  /** Why they cannot be trusted as a whole: one cannot be read, or there are too many. */
  problem?: string
}

export interface ProjectFile {
  /** From the folder: `.mcp.json`, `../.claude/settings.json`. */
  path: string
  content: Uint8Array
}

export interface HarnessModel {
  id: string
  label: string
  isDefault?: boolean
}

export interface HarnessInstallStatus {
  installed: boolean
  version?: string
  /** What is known of this version. A turn with one that is `too-old` is refused. */
  support?: VersionSupport
  path?: string
  authType: 'api-key' | 'account' | 'none'
  /** A credential is there. That it is a valid one shows only when it is used. */
  authenticated: boolean
  authInstructions?: string
}

export interface HarnessCapabilities {
  supportsSystemPrompt: boolean
  supportsAppendSystemPrompt: boolean
  supportsReadOnly: boolean
  supportsMcp: boolean
  supportsResume: boolean
  supportsFork: boolean
  /** Takes `forkAt`, and tells the points for it. */
  supportsForkAt: boolean
  supportsClientTools: boolean
  supportsStreamingTokens: boolean
  /** Of `query()`, where it differs from a turn of a session. */
  streamsTokensInQuery?: boolean
  supportsCostTracking: boolean
  supportsNamedTools: boolean
  supportsImages: boolean
  /** Raises `permission:request`, and heeds the answer; heeds `guard`. */
  supportsDecisions: boolean
  /** Takes messages while a turn runs. */
  supportsSteering: boolean
  /** Keeps the agent between turns, and can start it ahead. */
  supportsPrewarm: boolean
  supportsMaxTurns: boolean
  supportsBudget: boolean
}

export interface SlashCommand {
  name: string
  type: 'skill' | 'slash_command'
  description?: string
}

export interface HarnessQuery {
  // Content
  prompt: string | PromptPart[]
  /** Replaces the agent's own system prompt. */
  systemPrompt?: string
  /** Added to the agent's own system prompt. */
  appendSystemPrompt?: string

  // Context
  cwd: string
  additionalDirectories?: string[]
  /** Merged over the filtered environment of the child. */
  env?: Record<string, string>
  /**
   * The agent may use what the folder brings along: settings, hooks, MCP servers, commands. It runs programs of whoever wrote
   * the folder, and may send the credential to an address of theirs. Default false: only the folder's texts are read.
   */
  trustProject?: boolean

  // Model
  model?: string
  fallbackModel?: string
  thinking?: 'low' | 'med' | 'high'

  // Session
  resumeSessionId?: string
  forkSession?: boolean
  /**
   * With `forkSession`: a `forkPoint` of this agent. The new conversation knows what came up to there, and nothing later. Where
   * that cannot be had it begins without history, as with a conversation that is gone, and that is told.
   */
  forkAt?: string
  /** Sent before the prompt when the conversation to go on from is not to be had: what was said in it, in writing. */
  account?: string
  /** Continue the newest conversation of `cwd`. */
  continueLast?: boolean
  /** A wish: the id for a new conversation, where the agent lets one choose. `session:init` says what it became. */
  newSessionId?: string

  // Permissions
  /** How far the agent may go when nothing finer is said. */
  mode: 'read-only' | 'workspace-write' | 'yolo'
  /** Finer than `mode`, and wins over it. */
  permissionMode?: PermissionMode
  /** Which tools exist for the agent: names, `default`, or an empty string for none. */
  tools?: string
  /** Tools that run without asking. */
  allowedTools?: string[]
  /** Tools that are taken away. */
  disallowedTools?: string[]

  // Limits
  /** Rounds of model and tools. Null: as many as it takes. */
  maxTurns?: number | null
  maxBudgetUsd?: number

  // Integrations
  mcpServers?: Record<string, McpServerConfig>
  clientTools?: ClientToolDefinition[]
  /** How long the handler of a client tool may take. Default a day: it may ask a person. */
  clientToolTimeoutMs?: number
  /** JSON Schema the final answer has to meet. */
  outputSchema?: JsonSchema

  // Output
  /** Token-by-token text. Default true. */
  includePartialMessages?: boolean

  // Control
  signal: AbortSignal
}

export type PermissionMode = 'default' | 'acceptEdits' | 'dontAsk' | 'plan' | 'bypassPermissions'

export type PromptPart =
  | { type: 'text'; text: string }
  | { type: 'image'; source: ImageSource }
  /** A PDF or a plain text. A harness whose agent takes none refuses it. */
  | { type: 'document'; source: DocumentSource }

export type DocumentSource = ImageSource

export type ImageSource =
  | { kind: 'path'; path: string; mediaType: string }
  | { kind: 'base64'; data: string; mediaType: string }

export type McpServerConfig = McpStdioServerConfig | McpHttpServerConfig

export interface McpStdioServerConfig {
  type: 'stdio'
  command: string
  args?: string[]
  env?: Record<string, string>
  cwd?: string
}

export interface McpHttpServerConfig {
  type: 'http'
  url: string
  headers?: Record<string, string>
}

export type JsonSchema = Record<string, unknown>

export interface ClientToolDefinition {
  name: string
  description: string
  inputSchema: JsonSchema
  /** It changes nothing: agents may call it in read-only modes, too. */
  readOnly?: boolean
  /** `signal` fires when nobody waits for the result any more. */
  handler: (args: Record<string, unknown>, context: { signal: AbortSignal }) => Promise<ClientToolResult>
}

export interface ClientToolResult {
  content?: string
  error?: string
}

export type HarnessEvent<M> =
  | { type: 'message'; message: M }
  | { type: 'session_started'; sessionId: string }
  | { type: 'complete'; usage?: HarnessUsage }
  | { type: 'error'; error: string; code?: HarnessErrorCode }
  | { type: 'stderr'; data: string }

export interface HarnessUsage {
  inputTokens: number
  outputTokens: number
  cacheReadTokens?: number
  cacheWriteTokens?: number
  costUsd?: number
  durationMs?: number
}

export type HarnessErrorCode =
  | 'auth_failed'
  | 'not_installed'
  | 'rate_limited'
  | 'overloaded'
  | 'context_overflow'
  | 'process_crashed'
  | 'aborted'
  | 'timeout'
  | 'busy'
  | 'invalid_query'
  | 'unsupported'
  | 'session_not_found'
  | 'max_turns'
  | 'budget_exceeded'
  | 'unknown'
