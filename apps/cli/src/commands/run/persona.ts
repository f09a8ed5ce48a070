import { type PersonaConfig, PersonaManager } from '@chirality/personas'
import { PersonaConsent, TrustStore, withoutGrants } from '@chirality/sessions'
import { findPersona } from '../personas/find-persona.ts'
import type { SessionChoice } from './session-choice.ts'

/**
 * The persona of the session, if it has one. It is looked at before anything is spent. The packages are imported by name: with
 * `import()` of a whole package the bundle of this command has all of it, and every turn would load what only exports need.
 */
export async function readPersona({ projectRoot, persona }: SessionChoice): Promise<PersonaConfig | null> {
  if (persona === null) return null
  const personas = new PersonaManager()
  const found = await findPersona(personas, projectRoot, persona)
  const consent = await new PersonaConsent(personas, new TrustStore()).load(projectRoot, persona)
  // What it gives counts only as far as the user allowed it.
  return consent?.isAllowed ? found : withoutGrants(found, 'dontAsk')
}
