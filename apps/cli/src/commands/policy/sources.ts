import { stat } from 'node:fs/promises'
import path from 'node:path'
import type { PersonaManager } from '@chirality/personas'
import type { PolicyBook, PolicySource } from '@chirality/sessions'
import { UsageError } from '../../exit-code.ts'
import type { Output } from '../../output.ts'

/** Every file that can apply in the project, for any persona, each once. */
export async function allSources({
  project,
  draft,
  policies,
  personas,
}: PolicyRequest): Promise<PolicySource[]> {
  const found = new Map<string, PolicySource>()
  const add = (sources: PolicySource[]) => {
    for (const source of sources) if (!found.has(source.file)) found.set(source.file, source)
  }
  add(await policies.sources(project))
  for (const entry of await personas.listAll(project)) {
    const id = entry.kind === 'persona' ? entry.persona.id : entry.id
    if (id !== '') add(await policies.sources(project, id))
  }
  const sources = [...found.values()]
  if (draft === undefined) return sources
  const edited = policies.draft(draft)
  return sources.map(source => (source.kind === edited.kind ? edited : source))
}

/** The name of each kind of source, for display. */
export const SOURCE_NAMES: Record<PolicySource['kind'], string> = {
  'user-persona': 'yours, for this persona',
  'user-project': 'yours, for this project',
  'user-global': 'yours, for every project',
  persona: 'the persona’s',
  project: 'the project’s',
}

/** The file that --policy names. A missing file is usually a typing error. */
export async function readDraft(given: string | undefined): Promise<string | undefined> {
  if (given === undefined) return undefined
  const file = path.resolve(given)
  const info = await stat(file).catch(() => null)
  if (info?.isFile()) return file
  throw new UsageError(`The policy ${file} ${info ? 'is not a file' : 'does not exist'}.`)
}

export interface PolicyRequest {
  project: string
  /** A file that replaces the user's policy for the project. */
  draft: string | undefined
  policies: PolicyBook
  personas: PersonaManager
  json: boolean
  output: Output
}
