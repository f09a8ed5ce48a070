import type { PermissionMode } from '@chirality/core'
import type { PersonaConfig, PersonaManager } from '@chirality/personas'
import { fingerprintOf, type TrustStore } from './trust-store.ts'

/** A persona, and whether the user allowed what it asks for. */
export interface PersonaWithConsent {
  persona: PersonaConfig
  /** What the agent would do unasked because of its file, each in words; empty for one that only narrows. */
  grants: string[]
  /** There is nothing to allow, or the user allowed exactly this text. */
  isAllowed: boolean
  /** Of the text: what is shown and then allowed is the same as what is used. */
  fingerprint: string
}

/**
 * A persona is a file of a project: it comes with a clone, and an agent can write it. What it takes away counts at once; what
 * it gives counts only when the user has allowed exactly this text.
 */
export class PersonaConsent {
  readonly #personas: PersonaManager
  readonly #store: TrustStore

  constructor(personas: PersonaManager, store: TrustStore) {
    this.#personas = personas
    this.#store = store
  }

  /** Null when there is no such persona. Throws a PersonaError when it cannot be used. */
  async load(projectRoot: string, id: string): Promise<PersonaWithConsent | null> {
    const found = await this.#personas.loadWithText(projectRoot, id)
    if (found === null) return null
    const { persona, text } = found
    const grants = grantsOf(persona)
    const fingerprint = fingerprintOfPersona(persona, text)
    const isAllowed = grants.length === 0 || this.#store.isTrusted(projectRoot, kindOf(id), fingerprint)
    return { persona, grants, isAllowed, fingerprint }
  }

  /** False when the file is not the one that was shown. */
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

/** Without what it gives. A mode that is wider than the one that was chosen is given up for that one. */
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
  bypassPermissions: 4,
}

function grantsOf({ autoApproveTools = [], permissionMode }: PersonaConfig): string[] {
  const edits = permissionMode === 'acceptEdits' ? ['edit files'] : []
  return [...autoApproveTools.map(tool => `use ${tool}`), ...edits]
}

/** For people: what it asks for, and how to allow it. */
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
