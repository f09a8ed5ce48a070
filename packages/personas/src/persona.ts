import type { CageLevel, HarnessId, PermissionMode } from '@chirality/core'
import type { PolicyRule } from './parse/policy-rule.ts'

/** The content of a persona's file. Absent fields: the file does not have them. */
export interface PersonaConfig {
  /** The part between `AGENT_` and `.md` of the file's name. */
  id: string
  /** `agents/AGENT_<id>.md`, in the project. For display: the file is always found by the id. */
  sourceFile: string
  /** `tools`: the only tools that exist for the agent. Empty: none. */
  allowedTools?: string[]
  /** `disallowed_tools`: taken away, whatever else allows them. */
  disallowedTools?: string[]
  /** `auto_approve_tools`: run without asking. */
  autoApproveTools?: string[]
  maxTurns?: number
  description?: string
  harness?: HarnessId
  /** `next_harnesses`: who may go on with a task of a loop when a limit of the plan is reached, if the user allows it. */
  nextHarnesses?: HarnessId[]
  model?: string
  permissionMode?: PersonaPermissionMode
  /** Whether the agent runs in a cage. A stricter setting of the user or of the turn wins. */
  cage?: CageLevel
  /** The most that may be spent, in US dollars. */
  budgetUsd?: number
  /** The most tokens that models may read and write in a session of it. */
  budgetTokens?: number
  /** The most time that the turns of a session of it may take, without what they wait for a person. */
  budgetMinutes?: number
  /** `policy`: what is asked about and what is denied, the first that matches counts. Never allows. */
  policy?: PolicyRule[]
}

/** A file in a project may not take all checks away: that is for the person who runs it. */
export type PersonaPermissionMode = Exclude<PermissionMode, 'auto' | 'bypassPermissions'>

/** A persona, or a file that should be one and why it is not. */
export type PersonaEntry = GoodPersona | BrokenPersona

export interface GoodPersona {
  kind: 'persona'
  persona: PersonaConfig
  warnings: PersonaProblem[]
}

export interface BrokenPersona {
  kind: 'broken'
  /** Empty when the `agents` folder itself cannot be read. */
  id: string
  sourceFile: string
  /** The first problem; `problems` has them all. */
  error: string
  line?: number
  problems: PersonaProblem[]
}

export interface PersonaProblem {
  message: string
  /** Line of the file, from 1. */
  line?: number
}

export const AGENTS_FOLDER = 'agents'

/** The file name in `agents/` of a persona. */
export function personaFileName(id: string): string {
  return `AGENT_${id}.md`
}

/** Ids become file names, so they hold nothing that could lead elsewhere. */
export function isSafeId(id: string): boolean {
  return SAFE_ID.test(id)
}

const SAFE_ID = /^[A-Za-z0-9_-]{1,64}$/
