/** A conversation with one agent in one project. */
export interface Session {
  /** UUIDv4 of Chirality. */
  id: string
  createdAt: string
  updatedAt: string
  projectRoot: string
  /** Where the agent works, if not in `projectRoot`: a worktree of the same repository. State and logs stay in `projectRoot`. */
  workFolder?: string
  persona: string | null
  mode: SessionMode
  /** The agent's own id, for every harness; used only to resume. */
  claudeSessionId: string | null
}

export type SessionMode = 'workbench' | 'pipeline' | 'direct'

export const SESSION_MODES: readonly SessionMode[] = ['workbench', 'pipeline', 'direct']

/** The options of one turn. `…Override` wins over the plain field, which wins over the persona's. */
export interface TurnOpts {
  permissionMode?: 'default' | 'acceptEdits' | 'dontAsk' | 'plan'
  tools?: string
  disallowedTools?: string[]
  autoApproveTools?: string[]
  toolsOverride?: string
  disallowedToolsOverride?: string[]
  autoApproveToolsOverride?: string[]
  maxTurns?: number
  systemPromptAppend?: string
  /** Agents print their events only when verbose, so `false` changes nothing. */
  verbose?: boolean
  includePartialMessages?: boolean
}

export const DEFAULT_MAX_TURNS = 25

/** `claude-code`, `codex` …: never changes, because logs and settings contain it. */
export type HarnessId = string
