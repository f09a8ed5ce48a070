// The contract between Chirality and any coding agent.

import type { PermissionRequestEvent, UIEvent } from '../events/ui-event.ts'
import type { HarnessId, Session, TurnOpts } from '../session/session.ts'
import type { CageLevel } from './cage-level.ts'
import type { Guard, GuardRule, PermissionDecision } from './decision.ts'
import type { CommandSandbox, ProjectFiles } from './folder-facts.ts'
import type { HarnessMeta } from './harness-meta.ts'
import type { NativeSessions } from './native-session.ts'
import type { HarnessModel, SlashCommand, ThinkingLevel } from './offer.ts'
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

  /** The slash commands in this folder. Spends no tokens. */
  discoverSlashCommands(
    cwd: string,
    signal?: AbortSignal,
    opts?: Pick<HarnessQuery, 'trustProject'>,
  ): Promise<SlashCommand[]>

  /** The models that the installed agent itself offers. Spends no tokens. Without it: those of `models`. */
  discoverModels?(cwd: string, signal?: AbortSignal): Promise<HarnessModel[]>

  /**
   * The folder's files that the agent would run, or take addresses from, and that it uses only in a turn with
   * `trustProject`. Undefined if a project has no such files for this agent.
   */
  projectFiles?(cwd: string): Promise<ProjectFiles>

  /**
   * Runs one turn. Throws a HarnessError for an error before the start (no binary, invalid query); a later error is an
   * `error` event. When `signal` is aborted the agent is stopped, with everything it started, and the generator
   * returns.
   */
  query(query: HarnessQuery): AsyncGenerator<HarnessEvent<M>>
}

/** A harness that also runs the turns of sessions and shows them as UI events. */
export interface SessionHarness<M = unknown> extends Harness<M>, NativeSessions {
  /**
   * One turn. Starts when the first event is requested, and rejects then if the session has a running turn or the turn
   * cannot start. After `turn:start` every outcome is an event; leaving the loop early stops the agent.
   */
  startTurn(session: Session, userMessage: string, opts?: HarnessTurnOpts): TurnEvents

  /** Like Ctrl-C. An agent that ignores it is killed. */
  interrupt(sessionId: string): void

  /**
   * Ends the session's turn and its agent now, with everything that the agent started; also an agent that is kept while
   * no turn runs. Resolves when none of its processes runs any more, also if its events are not read. The next turn
   * starts the agent again.
   */
  kill(sessionId: string): Promise<void>

  /** Like `kill`, and also forgets the session's state: the session is deleted, or moves to another process. */
  release(sessionId: string): Promise<void>

  /** Whether a turn runs. An idle agent that is kept between turns is not running. */
  isRunning(sessionId: string): boolean

  /**
   * All events of a turn that a previous server started, from its beginning, followed by its new ones: the same events
   * that `startTurn` gave, up to `turn:end`. A caller that has some of them skips those. A turn whose process has
   * exited ends as its output says. Without this method a turn ends with the process that ran it.
   */
  adoptTurn?(session: Session, trace: TurnTrace, opts?: AdoptTurnOpts): TurnEvents

  /** Sends a message to the running turn. False if it is too late; nothing was sent then. */
  steer?(sessionId: string, message: string, images?: PromptPart[]): Promise<boolean>

  /**
   * Whether the agent itself reads the folder's AGENTS.md in such a turn: then it is not told a second time. Undefined:
   * not known of this agent.
   */
  readsAgentsFile?(cwd: string, opts: Pick<HarnessQuery, 'trustProject'>): Promise<boolean>

  /**
   * The user's rules that this agent cannot apply in a mode, each as a sentence for display. Undefined: it applies all.
   */
  unheldRules?(rules: readonly GuardRule[], mode: PermissionMode): string[]

  /** The sandbox in which the agent itself runs its commands in a mode. Undefined if it has none. */
  commandSandbox?(cwd: string, mode?: PermissionMode): CommandSandbox | undefined

  /** Starts the agent ahead of the first message, and reports it to `onProcess`. Does nothing if it already runs. */
  prewarm?(session: Session, opts?: HarnessTurnOpts): Promise<void>

  /** For the running turn and later ones. */
  setPermissionMode?(sessionId: string, mode: PermissionMode): Promise<void>

  /** The context usage, as the agent reports it. Undefined if no agent runs. */
  contextUsage?(sessionId: string): Promise<ContextUsage | undefined>

  /** Ends every process that the harness keeps between turns, and those of its lookups. */
  close(): Promise<void>

  /** Ends only the processes of its lookups, such as whether the agent is installed. Turns go on. */
  endLookups?(): Promise<void>
}

/** The events of a turn, one at a time. A plain async generator is one. */
export interface TurnEvents extends AsyncGenerator<UIEvent> {
  /**
   * Runs the whole turn, and gives its events in the batches in which they were read. Use this or the single events, not
   * both.
   */
  run?(take: TakeBatch): Promise<void>
}

/** The agent's next batch waits for the promise. If it rejects the agent is stopped, and the turn rejects with the error. */
export type TakeBatch = (events: UIEvent[]) => Promise<void> | undefined

/** Runs a turn of any harness in batches. */
export async function runTurn(events: TurnEvents, take: TakeBatch): Promise<void> {
  if (events.run) return events.run(take)
  for await (const event of events) await take([event])
}

/** Options of a turn beyond the specification's. A harness refuses an option that it lacks. */
export interface HarnessTurnOpts extends Omit<TurnOpts, 'permissionMode' | 'maxTurns'> {
  turnId?: string | undefined
  /** Null: no limit. Undefined: the specification's 25. */
  maxTurns?: number | null | undefined
  /** `bypassPermissions` has to be requested by name. */
  permissionMode?: PermissionMode | undefined
  /** Images, and texts between them, that follow the message. */
  images?: PromptPart[] | undefined
  model?: string | undefined
  fallbackModel?: string | undefined
  thinking?: HarnessQuery['thinking'] | undefined
  maxBudgetUsd?: number | undefined
  mcpServers?: Record<string, McpServerConfig> | undefined
  /** The agent also has the servers of its own settings. Default: only those given here. */
  keepOwnMcpServers?: boolean | undefined
  clientTools?: ClientToolDefinition[] | undefined
  /** How long the handler of a client tool may take. Default one day, because it may ask a person. */
  clientToolTimeoutMs?: number | undefined
  additionalDirectories?: string[] | undefined
  /** As in a query. */
  trustProject?: boolean | undefined
  forkSession?: boolean | undefined
  /** As in a query. */
  forkAt?: string | undefined
  /** As in a query. */
  account?: string | undefined
  /** A preferred id for a new conversation, if the agent accepts one. `session:init` has the actual id. */
  newSessionId?: string | undefined
  outputSchema?: JsonSchema | undefined
  env?: Record<string, string> | undefined
  /** As in a query. */
  cage?: CageLevel | undefined
  /** Answers the agent's requests. Without it, and if it throws, requests are denied. */
  decide?: ((request: PermissionRequestEvent, signal: AbortSignal) => Promise<PermissionDecision>) | undefined
  /**
   * Called before every tool call, also before those that the agent would not ask about: in every permission mode, for
   * tools that are approved beforehand, and with all checks off. If it throws, the call is denied.
   */
  guard?: Guard | undefined
  /** Called for each process of this turn, as soon as it runs. `adoptTurn` needs these records. */
  onProcess?: ((process: TurnProcess) => void) | undefined
  /**
   * Told of what a kept agent says after the turn by its own initiative, as it comes, until a turn of the session begins: a
   * command in the background has ended, say. It is not told again. Without it the next turn begins with it, and it is lost when
   * the agent ends before. What the agent asks waits for the next turn in both cases. It is also told when the agent exits by
   * itself, with a `status` and a `process:exit`; without it the next turn says so.
   */
  onBetweenTurns?: ((events: UIEvent[]) => void) | undefined
  /** Stops the turn; a reason named TimeoutError makes it end as `timeout`. */
  signal?: AbortSignal | undefined
  /** The silence after which a stall is reported. */
  stallMs?: number | undefined
}

/** The options for adopting a turn; the others were decided when it started. */
export type AdoptTurnOpts = Pick<HarnessTurnOpts, 'decide' | 'signal' | 'stallMs' | 'onProcess'>

export interface ContextUsage {
  usedTokens: number
  maxTokens: number
}

export interface HarnessInstallStatus {
  installed: boolean
  version?: string | undefined
  /** Whether the tests run this version. A turn with a `too-old` one is refused. */
  support?: VersionSupport | undefined
  path?: string | undefined
  /** `unknown`: the agent tells only when a conversation is opened. */
  authType: 'api-key' | 'account' | 'none' | 'unknown'
  /** A credential exists, or nobody knows. Whether it is valid shows only when it is used. */
  authenticated: boolean
  authInstructions?: string | undefined
}

export interface HarnessCapabilities {
  supportsSystemPrompt: boolean
  supportsAppendSystemPrompt: boolean
  supportsReadOnly: boolean
  supportsMcp: boolean
  supportsResume: boolean
  supportsFork: boolean
  /** Accepts `forkAt`, and reports the points for it. */
  supportsForkAt: boolean
  supportsClientTools: boolean
  supportsStreamingTokens: boolean
  /** The capabilities of `query()`, if they differ from those of a session's turn. */
  streamsTokensInQuery?: boolean | undefined
  supportsCostTracking: boolean
  supportsNamedTools: boolean
  supportsImages: boolean
  /** Emits `permission:request` and obeys the answer; obeys `guard`. */
  supportsDecisions: boolean
  /**
   * After a request that nobody answered, the next turn of the conversation asks for the same call again by itself, so
   * the model needs no notice of it.
   */
  asksAgain?: boolean | undefined
  /** Accepts messages while a turn runs. */
  supportsSteering: boolean
  /** Keeps the agent between turns, and can start it ahead. */
  supportsPrewarm: boolean
  supportsMaxTurns: boolean
  supportsBudget: boolean
  /** Runs its program in a cage. A turn with a cage is refused otherwise. */
  supportsCage?: boolean | undefined
  /** Has the permission mode `auto`, in releases and with models whose `HarnessModel.supportsAutoMode` says so. */
  supportsAutoMode?: boolean | undefined
}

export interface HarnessQuery {
  // Content
  prompt: string | PromptPart[]
  /** Replaces the agent's own system prompt. */
  systemPrompt?: string | undefined
  /** Added to the agent's own system prompt. */
  appendSystemPrompt?: string | undefined

  // Context
  cwd: string
  /** The project that keeps raw logs and state. Default: `cwd`. */
  projectRoot?: string | undefined
  additionalDirectories?: string[] | undefined
  /** Merged over the filtered environment of the child. */
  env?: Record<string, string> | undefined
  /**
   * The agent may use the folder's settings, hooks, MCP servers and commands. It then runs programs of the folder's
   * author, and may send the credential to an address of theirs. Default false: only the folder's texts are read.
   */
  trustProject?: boolean | undefined

  // Model
  model?: string | undefined
  fallbackModel?: string | undefined
  thinking?: ThinkingLevel | undefined

  // Session
  resumeSessionId?: string | undefined
  forkSession?: boolean | undefined
  /**
   * With `forkSession`: a `forkPoint` of this agent. The new conversation contains everything up to there, and nothing
   * later. If that is not possible it begins without history, as for a conversation that no longer exists, and an event
   * reports it.
   */
  forkAt?: string | undefined
  /** Sent before the prompt if the conversation to resume is not available: a transcript of it. */
  account?: string | undefined
  /** Resumes the newest conversation of `cwd`. */
  continueLast?: boolean | undefined
  /** A preferred id for a new conversation, if the agent accepts one. `session:init` has the actual id. */
  newSessionId?: string | undefined

  // Permissions
  /** The general permission level, if `permissionMode` is not set. */
  mode: 'read-only' | 'workspace-write' | 'yolo'
  /** Finer than `mode`, and overrides it. */
  permissionMode?: PermissionMode | undefined
  /** The tools that the agent has: names, `default`, or an empty string for none. */
  tools?: string | undefined
  /** Tools that run without asking. */
  allowedTools?: string[] | undefined
  /** Tools that are removed. */
  disallowedTools?: string[] | undefined

  /** Whether the agent can reach only what the cage gives it. Default `off`. */
  cage?: CageLevel | undefined

  // Limits
  /** Rounds of model and tools. Null: no limit. */
  maxTurns?: number | null | undefined
  maxBudgetUsd?: number | undefined

  // Integrations
  mcpServers?: Record<string, McpServerConfig> | undefined
  /** The agent also has the servers of its own settings. Default: only those given here. */
  keepOwnMcpServers?: boolean | undefined
  clientTools?: ClientToolDefinition[] | undefined
  /** How long the handler of a client tool may take. Default one day, because it may ask a person. */
  clientToolTimeoutMs?: number | undefined
  /** JSON Schema the final answer has to meet. */
  outputSchema?: JsonSchema | undefined

  // Output
  /** Token-by-token text. Default true. */
  includePartialMessages?: boolean | undefined

  // Control
  signal: AbortSignal
}

/** `auto`: a model of the agent's vendor decides about each call. Only an agent with `supportsAutoMode` has it. */
export type PermissionMode = 'default' | 'acceptEdits' | 'auto' | 'dontAsk' | 'plan' | 'bypassPermissions'

export type PromptPart =
  | { type: 'text'; text: string }
  | { type: 'image'; source: ImageSource }
  /** A PDF or a plain text. A harness whose agent accepts none refuses it. */
  | { type: 'document'; source: DocumentSource }

export type DocumentSource = ImageSource

export type ImageSource =
  | { kind: 'path'; path: string; mediaType: string }
  | { kind: 'base64'; data: string; mediaType: string }

export type McpServerConfig = McpStdioServerConfig | McpHttpServerConfig

export interface McpStdioServerConfig {
  type: 'stdio'
  command: string
  args?: string[] | undefined
  env?: Record<string, string> | undefined
  cwd?: string | undefined
}

export interface McpHttpServerConfig {
  type: 'http'
  url: string
  headers?: Record<string, string> | undefined
}

export type JsonSchema = Record<string, unknown>

export interface ClientToolDefinition {
  name: string
  description: string
  inputSchema: JsonSchema
  /** The tool changes nothing: agents may also call it in read-only modes. */
  readOnly?: boolean | undefined
  /** `signal` is aborted when the result is no longer waited for. */
  handler: (args: Record<string, unknown>, context: { signal: AbortSignal }) => Promise<ClientToolResult>
}

export interface ClientToolResult {
  content?: string | undefined
  error?: string | undefined
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
  cacheReadTokens?: number | undefined
  cacheWriteTokens?: number | undefined
  costUsd?: number | undefined
  durationMs?: number | undefined
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
