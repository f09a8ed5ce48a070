import type {
  ClaudeAssistantEvent,
  ClaudeAuthStatusEvent,
  ClaudeContentBlock,
  ClaudeEvent,
  ClaudeResultEvent,
  ClaudeStreamEvent,
  ClaudeSystemCompactBoundaryEvent,
  ClaudeSystemFilesPersistedEvent,
  ClaudeSystemHookProgressEvent,
  ClaudeSystemHookResponseEvent,
  ClaudeSystemHookStartedEvent,
  ClaudeSystemInitEvent,
  ClaudeSystemStatusEvent,
  ClaudeSystemTaskNotificationEvent,
  ClaudeToolProgressEvent,
  ClaudeToolUseSummaryEvent,
  ClaudeUserContentBlock,
  ClaudeUserEvent,
  ClientToolDefinition,
  ClientToolResult,
  CodexAgentMessageItem,
  CodexCommandExecutionItem,
  CodexErrorEvent,
  CodexEvent,
  CodexItem,
  CodexItemCompletedEvent,
  CodexItemStartedEvent,
  CodexReasoningItem,
  CodexThreadStartedEvent,
  CodexTurnCompletedEvent,
  CodexTurnFailedEvent,
  CodexTurnStartedEvent,
  CodexUsage,
  Harness,
  HarnessCapabilities,
  HarnessErrorCode,
  HarnessEvent,
  HarnessInstallStatus,
  HarnessMeta,
  HarnessModel,
  HarnessQuery,
  HarnessTurnOpts,
  HarnessUsage,
  ImageSource,
  McpServerConfig,
  PromptPart,
  Session,
  SessionHarness,
  SlashCommand,
  UIEvent,
  UsageInfo,
} from '@chirality/core'
import { HarnessAuthError, HarnessError } from '@chirality/core'
import type { PersonaConfig, PersonaManager } from '@chirality/personas'
import type {
  ClaudeCodeHarnessConfig,
  ClaudeRequest,
  ClaudeResponse,
  HarnessRegistry,
} from '@chirality/runner'
import { ClaudeCodeHarness, CodexHarness, detectShellEnvironment, resolveExecutable } from '@chirality/runner'
import { MessagesApiHarness } from '@chirality/runner/messages-api'
import type { ToolServerHandle } from '@chirality/runner/tool-server'
import type { LogEntry, SessionStore, StoredSession } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { fits, takes } from './support/type-relations.ts'

// The shapes of the specification, written down as a program of a third party would use them. `fits` compiles only where
// a value of ours can be used as one of theirs, `takes` only where ours accepts theirs.

type Of<Type extends string> = Extract<UIEvent, { type: Type }>
type Mode = 'workbench' | 'pipeline' | 'direct'

interface SpecSession {
  id: string
  createdAt: string
  updatedAt: string
  projectRoot: string
  persona: string | null
  mode: Mode
  claudeSessionId: string | null
}

interface SpecUsage {
  input_tokens: number
  output_tokens: number
  cache_read_input_tokens?: number
  cache_creation_input_tokens?: number
}

test('000: sessions, personas and log entries', () => {
  expect(fits<SpecSession>()<Session>()).toBe(true)
  expect(takes<Session>()<SpecSession>()).toBe(true)
  // The summary of a session.
  expect(fits<Omit<SpecSession, 'claudeSessionId'>>()<StoredSession>()).toBe(true)
  interface SpecPersona {
    id: string
    sourceFile: string
    disallowedTools?: string[]
    maxTurns?: number
  }
  expect(fits<SpecPersona>()<PersonaConfig>()).toBe(true)
  interface SpecLogEntry {
    timestamp: string
    sessionId: string | null
    level: 'debug' | 'info' | 'warn' | 'error'
    event: string
    data?: Record<string, unknown>
  }
  expect(fits<SpecLogEntry>()<LogEntry>()).toBe(true)
  expect(fits<SpecUsage>()<UsageInfo>()).toBe(true)
  expect(takes<UsageInfo>()<SpecUsage>()).toBe(true)
})

test('000: the eight UI events have their names and fields', () => {
  const all = [
    fits<{ sessionId: string; text: string }>()<Of<'chat:delta'>>(),
    fits<{ sessionId: string; text: string }>()<Of<'chat:complete'>>(),
    fits<{ sessionId: string; toolUseId: string; name: string; input: Record<string, unknown> }>()<
      Of<'tool:start'>
    >(),
    fits<{ sessionId: string; toolUseId: string; content: string; isError: boolean }>()<Of<'tool:result'>>(),
    fits<{ sessionId: string; claudeSessionId: string | null; model: string; tools: string[] }>()<
      Of<'session:init'>
    >(),
    // The cost is left out by an agent that names no price.
    fits<{ sessionId: string; costUsd?: number | undefined; usage: SpecUsage }>()<Of<'session:complete'>>(),
    fits<{ sessionId: string; error: string }>()<Of<'session:error'>>(),
    fits<{ sessionId: string; code: number | null; signal: string | null }>()<Of<'process:exit'>>(),
  ]
  expect(all).toHaveLength(8)
})

test('000: the managers', () => {
  interface SpecTurnOpts {
    permissionMode?: 'default' | 'acceptEdits' | 'dontAsk' | 'plan'
    tools?: string
    disallowedTools?: string[]
    autoApproveTools?: string[]
    toolsOverride?: string
    disallowedToolsOverride?: string[]
    autoApproveToolsOverride?: string[]
    maxTurns?: number
    systemPromptAppend?: string
    includePartialMessages?: boolean
  }
  expect(takes<HarnessTurnOpts>()<SpecTurnOpts>()).toBe(true)
  interface SpecClaudeCodeManager {
    startTurn(session: SpecSession, userMessage: string, opts?: SpecTurnOpts): AsyncIterable<UIEvent>
    interrupt(sessionId: string): void
    kill(sessionId: string): unknown
    isRunning(sessionId: string): boolean
  }
  expect(fits<SpecClaudeCodeManager>()<SessionHarness>()).toBe(true)
  expect(fits<SpecClaudeCodeManager>()<ClaudeCodeHarness>()).toBe(true)
  interface SpecPersonaManager {
    load(projectRoot: string, personaId: string): Promise<PersonaConfig | null>
    list(projectRoot: string): Promise<PersonaConfig[]>
    buildSystemPrompt(projectRoot: string, persona: PersonaConfig | null, mode: Mode): Promise<string>
  }
  expect(fits<SpecPersonaManager>()<PersonaManager>()).toBe(true)
  interface SpecSessionManager {
    create(projectRoot: string, persona: string | null, mode: Mode): Promise<SpecSession>
    resume(sessionId: string): Promise<SpecSession>
    save(session: SpecSession): Promise<void>
    list(projectRoot?: string): Promise<Omit<SpecSession, 'claudeSessionId'>[]>
    delete(sessionId: string): Promise<void>
  }
  expect(fits<SpecSessionManager>()<SessionStore>()).toBe(true)
})

test('001: the request and the answer of a run', () => {
  interface SpecRequest {
    cwd: string
    prompt: string
    systemPrompt?: string
    allowedTools?: string[]
    continue?: boolean
    extraArgs?: string[]
    env?: Record<string, string>
  }
  expect(takes<ClaudeRequest>()<SpecRequest>()).toBe(true)
  interface SpecResponse {
    sessionId: string | null
    model: string | null
    version: string | null
    finalText: string
    streamText: string
    usage: SpecUsage
    totalCostUsd: number
    permissionDenials: readonly unknown[]
    rawEventsPath: string
  }
  expect(fits<SpecResponse>()<ClaudeResponse>()).toBe(true)
})

test('002: what a harness is asked and answers', () => {
  type SpecImage =
    | { kind: 'path'; path: string; mediaType: string }
    | { kind: 'base64'; data: string; mediaType: string }
  expect(takes<ImageSource>()<SpecImage>()).toBe(true)
  expect(takes<PromptPart>()<{ type: 'text'; text: string } | { type: 'image'; source: SpecImage }>()).toBe(
    true,
  )
  type SpecServer =
    | { type: 'stdio'; command: string; args?: string[]; env?: Record<string, string>; cwd?: string }
    | { type: 'http'; url: string; headers?: Record<string, string> }
  expect(takes<McpServerConfig>()<SpecServer>()).toBe(true)
  interface SpecTool {
    name: string
    description: string
    inputSchema: Record<string, unknown>
    handler: (args: Record<string, unknown>) => Promise<{ content?: string; error?: string }>
  }
  expect(takes<ClientToolDefinition>()<SpecTool>()).toBe(true)
  expect(takes<ClientToolResult>()<{ content?: string; error?: string }>()).toBe(true)
  interface SpecQuery {
    prompt: string | PromptPart[]
    systemPrompt?: string
    appendSystemPrompt?: string
    cwd: string
    additionalDirectories?: string[]
    env?: Record<string, string>
    model?: string
    thinking?: 'low' | 'med' | 'high'
    resumeSessionId?: string
    forkSession?: boolean
    mode: 'read-only' | 'yolo'
    allowedTools?: string[]
    disallowedTools?: string[]
    mcpServers?: Record<string, SpecServer>
    clientTools?: SpecTool[]
    signal: AbortSignal
  }
  expect(takes<HarnessQuery>()<SpecQuery>()).toBe(true)
  expect(takes<Required<Pick<HarnessQuery, 'mode' | 'signal'>>>()<HarnessQuery>()).toBe(true)
  type SpecEvent =
    | { type: 'message'; message: number }
    | { type: 'session_started'; sessionId: string }
    | { type: 'complete'; usage?: HarnessUsage }
    | { type: 'error'; error: string; code?: HarnessErrorCode }
    | { type: 'stderr'; data: string }
  expect(fits<SpecEvent['type']>()<HarnessEvent<number>['type']>()).toBe(true)
  expect(takes<HarnessEvent<number>>()<SpecEvent>()).toBe(true)
  interface SpecHarnessUsage {
    inputTokens: number
    outputTokens: number
    cacheReadTokens?: number
    cacheWriteTokens?: number
    costUsd?: number
    durationMs?: number
  }
  expect(takes<HarnessUsage>()<SpecHarnessUsage>()).toBe(true)
  type SpecCode =
    | ('auth_failed' | 'not_installed' | 'rate_limited' | 'context_overflow')
    | ('process_crashed' | 'aborted' | 'timeout' | 'unknown')
  expect(takes<HarnessErrorCode>()<SpecCode>()).toBe(true)
})

test('002: each event of Claude Code and Codex has a name', () => {
  type SpecText = { type: 'text'; text: string }
  type SpecToolUse = { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> }
  type SpecResult = { type: 'tool_result'; tool_use_id: string; content: string; is_error?: boolean }
  const system = [
    fits<{ type: 'system'; subtype: 'init' }>()<ClaudeSystemInitEvent>(),
    fits<{ type: 'system'; subtype: 'status' }>()<ClaudeSystemStatusEvent>(),
    fits<{ type: 'system'; subtype: 'compact_boundary' }>()<ClaudeSystemCompactBoundaryEvent>(),
    fits<{ type: 'system'; subtype: 'hook_started' }>()<ClaudeSystemHookStartedEvent>(),
    fits<{ type: 'system'; subtype: 'hook_progress' }>()<ClaudeSystemHookProgressEvent>(),
    fits<{ type: 'system'; subtype: 'hook_response' }>()<ClaudeSystemHookResponseEvent>(),
    fits<{ type: 'system'; subtype: 'task_notification' }>()<ClaudeSystemTaskNotificationEvent>(),
    fits<{ type: 'system'; subtype: 'files_persisted' }>()<ClaudeSystemFilesPersistedEvent>(),
  ]
  type SpecSystemEvent =
    | (ClaudeSystemInitEvent | ClaudeSystemStatusEvent | ClaudeSystemCompactBoundaryEvent)
    | (ClaudeSystemHookStartedEvent | ClaudeSystemHookProgressEvent | ClaudeSystemHookResponseEvent)
    | (ClaudeSystemTaskNotificationEvent | ClaudeSystemFilesPersistedEvent)
  type SpecClaudeEvent =
    | (SpecSystemEvent | ClaudeAssistantEvent | ClaudeUserEvent | ClaudeResultEvent | ClaudeStreamEvent)
    | (ClaudeToolProgressEvent | ClaudeToolUseSummaryEvent | ClaudeAuthStatusEvent)
  const claude = [
    fits<{ type: 'assistant' }>()<ClaudeAssistantEvent>(),
    fits<{ type: 'user' }>()<ClaudeUserEvent>(),
    fits<{ type: 'result' }>()<ClaudeResultEvent>(),
    fits<{ type: 'stream_event' }>()<ClaudeStreamEvent>(),
    fits<{ type: 'tool_progress' }>()<ClaudeToolProgressEvent>(),
    fits<{ type: 'tool_use_summary' }>()<ClaudeToolUseSummaryEvent>(),
    fits<{ type: 'auth_status' }>()<ClaudeAuthStatusEvent>(),
    takes<ClaudeContentBlock>()<
      SpecText | SpecToolUse | SpecResult | { type: 'thinking'; thinking: string }
    >(),
    takes<ClaudeUserContentBlock>()<SpecResult>(),
    takes<ClaudeEvent>()<SpecClaudeEvent>(),
  ]
  type SpecCodexItem = CodexReasoningItem | CodexAgentMessageItem | CodexCommandExecutionItem
  type SpecCodexEvent =
    | (CodexThreadStartedEvent | CodexTurnStartedEvent | CodexTurnCompletedEvent | CodexTurnFailedEvent)
    | (CodexItemStartedEvent | CodexItemCompletedEvent | CodexErrorEvent)
  const codex = [
    fits<{ type: 'thread.started' }>()<CodexThreadStartedEvent>(),
    fits<{ type: 'turn.started' }>()<CodexTurnStartedEvent>(),
    fits<{ type: 'turn.completed' }>()<CodexTurnCompletedEvent>(),
    fits<{ type: 'turn.failed' }>()<CodexTurnFailedEvent>(),
    fits<{ type: 'item.started' }>()<CodexItemStartedEvent>(),
    fits<{ type: 'item.completed' }>()<CodexItemCompletedEvent>(),
    fits<{ type: 'error' }>()<CodexErrorEvent>(),
    fits<{ type: 'reasoning' }>()<CodexReasoningItem>(),
    fits<{ type: 'agent_message' }>()<CodexAgentMessageItem>(),
    fits<{ type: 'command_execution' }>()<CodexCommandExecutionItem>(),
    takes<CodexItem>()<SpecCodexItem>(),
    takes<CodexEvent>()<SpecCodexEvent>(),
    takes<CodexUsage>()<{ input_tokens: number; cached_input_tokens: number; output_tokens: number }>(),
  ]
  expect([...system, ...claude, ...codex].every(Boolean)).toBe(true)
})

test('002: a harness, its registry and its errors', async () => {
  expect(fits<{ id: string; name: string; vendor: string; website: string }>()<HarnessMeta>()).toBe(true)
  expect(fits<{ id: string; label: string; isDefault?: boolean }>()<HarnessModel>()).toBe(true)
  interface SpecInstall {
    installed: boolean
    version?: string
    authenticated: boolean
    authInstructions?: string
  }
  expect(fits<SpecInstall>()<HarnessInstallStatus>()).toBe(true)
  type Supports =
    | ('SystemPrompt' | 'AppendSystemPrompt' | 'ReadOnly' | 'Mcp' | 'Resume' | 'Fork')
    | ('ClientTools' | 'StreamingTokens' | 'CostTracking' | 'NamedTools' | 'Images')
  expect(fits<Record<`supports${Supports}`, boolean>>()<HarnessCapabilities>()).toBe(true)
  expect(fits<{ name: string; type: 'skill' | 'slash_command' }>()<SlashCommand>()).toBe(true)
  interface SpecHarness<M> {
    readonly id: string
    meta(): { id: string; name: string; vendor: string; website: string }
    models(): { id: string; label: string; isDefault?: boolean }[]
    capabilities(): Record<`supports${Supports}`, boolean>
    checkInstallStatus(): Promise<SpecInstall>
    discoverSlashCommands(cwd: string, signal?: AbortSignal): Promise<{ name: string; type: string }[]>
    query(q: HarnessQuery): AsyncGenerator<HarnessEvent<M>>
  }
  expect(fits<SpecHarness<unknown>>()<Harness>()).toBe(true)
  expect(takes<ClaudeCodeHarnessConfig>()<{ binaryPath?: string; disableTelemetry?: boolean }>()).toBe(true)
  expect(new ClaudeCodeHarness().id).toBe('claude-code')
  const codex = new CodexHarness()
  expect(codex.id).toBe('codex')
  expect(codex.models().filter(({ isDefault }) => isDefault)).toHaveLength(1)
  expect(await codex.discoverSlashCommands('/')).toEqual([])
  const query = { prompt: 'Hi', cwd: '/', mode: 'read-only' as const, signal: new AbortController().signal }
  await expect(new MessagesApiHarness({ environment: {} }).query(query).next()).rejects.toThrow(
    HarnessAuthError,
  )
  interface SpecRegistry {
    get(id: string): unknown
    getOrThrow(id: string): unknown
    getAll(): readonly unknown[]
    has(id: string): boolean
    checkAllInstallStatus(): Promise<Map<string, HarnessInstallStatus>>
  }
  expect(fits<SpecRegistry>()<HarnessRegistry>()).toBe(true)
  expect(new HarnessError('No.', 'timeout', 'codex', new Error('why'))).toMatchObject({
    code: 'timeout',
    harnessId: 'codex',
  })
  const found: (name: string, extraPaths?: string[]) => Promise<string | undefined> = resolveExecutable
  const environment: (shell?: string) => Promise<Record<string, string>> = detectShellEnvironment
  expect([typeof found, typeof environment]).toEqual(['function', 'function'])
  expect(fits<{ stop(): Promise<void> }>()<ToolServerHandle>()).toBe(true)
})
