import type { PersonaConfig } from '@chirality/personas'
import type { SessionChoice } from './session-choice.ts'

/** The persona of the session, if it has one. It is looked at before anything is spent. */
export async function readPersona({ projectRoot, persona }: SessionChoice): Promise<PersonaConfig | null> {
  if (persona === null) return null
  // Loaded only when there is one: a parser comes with it.
  const { PersonaManager } = await import('@chirality/personas')
  const { PersonaConsent, TrustStore, withoutGrants } = await import('@chirality/sessions')
  const { findPersona } = await import('../personas/find-persona.ts')
  const personas = new PersonaManager()
  const found = await findPersona(personas, projectRoot, persona)
  const consent = await new PersonaConsent(personas, new TrustStore()).load(projectRoot, persona)
  // What it gives counts only as far as the user allowed it.
  return consent?.isAllowed ? found : withoutGrants(found, 'dontAsk')
}
