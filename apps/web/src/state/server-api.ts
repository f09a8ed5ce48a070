import type {
  Envelope,
  HarnessCapabilities,
  HarnessId,
  HarnessInstallStatus,
  HarnessMeta,
  HarnessModel,
  PermissionDecision,
  PermissionMode,
  PermissionRequestEvent,
  PromptPart,
  SessionMode,
  SlashCommand,
  TurnEndReason,
} from '@chirality/core'

/** All that the dashboard asks of the server. Panes know this; how it travels is known in one file. */
export interface ServerApi {
  watchFleet(watcher: FleetWatcher): () => void
  watchSession(sessionId: string, afterSeq: number, watcher: SessionWatcher): () => void
  onConnection(listener: (state: ConnectionState) => void): () => void

  projects(): Promise<ProjectInfo[]>
  harnesses(): Promise<HarnessInfo[]>
  personas(projectRoot: string): Promise<PersonaInfo[]>
  personaPrompt(projectRoot: string, persona: string | null, mode: SessionMode): Promise<PersonaPrompt>
  slashCommands(sessionId: string): Promise<SlashCommand[]>

  createSession(projectRoot: string, options: NewSessionOptions): Promise<{ id: string }>
  renameSession(sessionId: string, title: string): Promise<void>
  forkSession(sessionId: string, afterTurnId?: string): Promise<{ id: string }>
  deleteSession(sessionId: string): Promise<void>
  search(text: string): Promise<SearchHit[]>

  send(sessionId: string, message: OutgoingMessage): Promise<SendResult>
  steer(sessionId: string, message: OutgoingMessage): Promise<SendResult>
  interrupt(sessionId: string): Promise<void>
  kill(sessionId: string): Promise<void>
  setPermissionMode(sessionId: string, mode: PermissionMode): Promise<void>
  queueEdit(sessionId: string, messageId: string, text: string): Promise<void>
  queueRemove(sessionId: string, messageId: string): Promise<void>
  queueRelease(sessionId: string): Promise<void>
  decide(sessionId: string, requestId: string, decision: PermissionDecision): Promise<void>

  files(sessionId: string, folder: string): Promise<FileEntry[]>
  findFiles(sessionId: string, text: string): Promise<string[]>
  readFile(sessionId: string, path: string): Promise<FileText>
  workingTreeDiff(sessionId: string): Promise<WorkingTreeDiff>

  envelopes(sessionId: string, page: { afterSeq: number; limit: number }): Promise<Envelope[]>
  nativeEvents(sessionId: string, turnId: string): Promise<NativeRecord[]>
}

export type ConnectionState = 'connecting' | 'connected' | 'offline' | 'refused'

export interface FleetWatcher {
  onAll(statuses: SessionStatus[]): void
  onStatus(status: SessionStatus): void
  onGone(sessionId: string): void
}

export interface SessionWatcher {
  onEnvelopes(envelopes: Envelope[]): void
  onError(message: string): void
}

export interface SessionStatus {
  sessionId: string
  projectRoot: string
  title: string | null
  harness: HarnessId | null
  model: string | null
  persona: string | null
  mode: SessionMode
  phase: 'idle' | 'starting' | 'running' | 'waiting' | 'ending'
  turnId: string | null
  turnStartedAt: string | null
  lastTurn: TurnEndReason | null
  costUsd: number
  updatedAt: string
  lastSeq: number
  lastLine: string | null
  pending: PermissionRequestEvent[]
  queue: QueuedMessage[]
  queueHeld: boolean
  logHealth: 'ok' | 'paused'
}

export interface QueuedMessage {
  id: string
  message: string
}

export interface ProjectInfo {
  root: string
  name: string
  demo: boolean
}

export interface HarnessInfo {
  meta: HarnessMeta
  models: HarnessModel[]
  capabilities: HarnessCapabilities
  status: HarnessInstallStatus
}

export interface PersonaInfo {
  id: string
  description: string | null
  harness: HarnessId | null
  model: string | null
  error: string | null
}

export interface PersonaPrompt {
  text: string
  tokens: number
  maxTokens: number
  truncated: string[]
}

export interface NewSessionOptions {
  harness?: HarnessId
  persona?: string | null
  mode?: SessionMode
  model?: string
  thinking?: 'low' | 'med' | 'high'
  permissionMode?: PermissionMode
  budgetUsd?: number
  title?: string
}

export interface OutgoingMessage {
  text: string
  images?: PromptPart[]
  retryOfTurnId?: string
}

export type SendResult = { kind: 'started' } | { kind: 'steered' } | { kind: 'queued' }

export interface SearchHit {
  sessionId: string
  turnId: string | null
  title: string | null
  excerpt: string
}

export interface FileEntry {
  name: string
  path: string
  kind: 'file' | 'folder'
  size?: number
}

export interface FileText {
  path: string
  text: string
  truncated: boolean
  binary: boolean
}

export type WorkingTreeDiff = { kind: 'diff'; patch: string } | { kind: 'no-repository' }

export interface NativeRecord {
  line: number
  raw: unknown
}
