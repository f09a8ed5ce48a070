import type { PersonaConfig } from '@chirality/personas'
import type { SessionChoice } from './session-choice.ts'

/** The persona of the session, if it has one. It is looked at before anything is spent. */
export async function readPersona({ projectRoot, persona }: SessionChoice): Promise<PersonaConfig | null> {
  if (persona === null) return null
  // Loaded only when there is one: a parser comes with it.
  const { PersonaManager } = await import('@chirality/personas')
  const { findPersona } = await import('../personas/find-persona.ts')
  return findPersona(new PersonaManager(), projectRoot, persona)
}
