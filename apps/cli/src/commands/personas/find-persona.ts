import { didYouMean } from '@chirality/core'
import type { PersonaConfig, PersonaManager } from '@chirality/personas'
import { UsageError } from '../../exit-code.ts'

/** The persona with that id. An invalid one throws a PersonaError, with its file and line. */
export async function findPersona(
  personas: PersonaManager,
  project: string,
  id: string,
): Promise<PersonaConfig> {
  const persona = await personas.load(project, id)
  if (persona !== null) return persona
  const ids = (await personas.list(project)).map(known => known.id)
  const near = didYouMean(id, ids)
  const known =
    ids.length === 0 ? 'It has none: they are files agents/AGENT_<ID>.md.' : `It has ${ids.join(', ')}.`
  const hint = near === undefined ? '' : ` Did you mean ${near}?`
  throw new UsageError(`There is no persona "${id}" in ${project}. ${known}${hint}`)
}
