import type { PermissionMode } from '@chirality/core'
import type { PersonaConfig, PersonaManager } from '@chirality/personas'
import { fingerprintOf, type TrustStore } from './trust-store.ts'

/** A persona, and whether the user allowed its permissions. */
export interface PersonaWithConsent {
  persona: PersonaConfig
  /** The actions that the persona lets the agent do without asking, as text; empty for one that only restricts. */
  grants: string[]
  /** There is nothing to allow, or the user allowed exactly this text. */
  isAllowed: boolean
  /** Of the text, so that the text that is shown, allowed and used is the same. */
  fingerprint: string
}

/**
 * A persona is a file of the project: it can come with a clone, and an agent can write it. Its restrictions apply
 * immediately, its permissions only after the user has allowed exactly this text.
 */
export class PersonaConsent {
  readonly #personas: PersonaManager
  readonly #store: TrustStore

  constructor(personas: PersonaManager, store: TrustStore) {
    this.#personas = personas
    this.#store = store
  }

  /** Null when the persona does not exist. Throws a PersonaError when it is invalid. */
  async load(projectRoot: string, id: string): Promise<PersonaWithConsent | null> {
    const found = await this.#personas.loadWithText(projectRoot, id)
    if (found === null) return null
    const { persona, text } = found
    const grants = grantsOf(persona)
    const fingerprint = fingerprintOfPersona(persona, text)
    const isAllowed = grants.length === 0 || this.#store.isTrusted(projectRoot, kindOf(id), fingerprint)
    return { persona, grants, isAllowed, fingerprint }
  }

  /** False when the file has changed since it was shown. */
  async allow(projectRoot: string, id: string, fingerprint: string): Promise<boolean> {
    const found = await this.#personas.loadWithText(projectRoot, id)
    if (found === null || fingerprintOfPersona(found.persona, found.text) !== fingerprint) return false
    await this.#store.trust(projectRoot, kindOf(id), fingerprint)
    return true
  }

  revoke(projectRoot: string, id: string): Promise<void> {
    return this.#store.revoke(projectRoot, kindOf(id))
  }
}

/** The persona without its permissions. A mode that is wider than the chosen one is replaced by it. */
export function withoutGrants(persona: PersonaConfig, chosen: PermissionMode): PersonaConfig {
  const { autoApproveTools: _tools, permissionMode, ...rest } = persona
  const isNarrower = permissionMode !== undefined && WIDTH[permissionMode] < WIDTH[chosen]
  return isNarrower ? { ...rest, permissionMode } : rest
}

const WIDTH: Record<PermissionMode, number> = {
  plan: 0,
  dontAsk: 1,
  default: 2,
  acceptEdits: 3,
  auto: 4,
  bypassPermissions: 5,
}

function grantsOf({ autoApproveTools = [], permissionMode }: PersonaConfig): string[] {
  const edits = permissionMode === 'acceptEdits' ? ['edit files'] : []
  return [...autoApproveTools.map(tool => `use ${tool}`), ...edits]
}

/** The message that lists the requested permissions and says how to allow them. */
export function consentNotice({ persona: { id }, grants }: PersonaWithConsent): string {
  return (
    `${id} wants to ${grants.join(', ')} without asking. You have not allowed that for its text as it is now, so it is ` +
    `asked about. To allow it: chirality personas allow ${id}, or the persona's page.`
  )
}

function kindOf(id: string): string {
  return `persona:${id}`
}

function fingerprintOfPersona({ sourceFile }: PersonaConfig, text: string): string {
  return fingerprintOf([{ path: sourceFile, bytes: text }])
}
