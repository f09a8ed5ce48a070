import type { CodedError } from '@chirality/core'
import { type PersonaConfig, personaTurnOpts } from '@chirality/personas'
import { z } from 'zod'
import { mutation, query } from '../call.ts'
import type { Centre } from '../centre.ts'
import { callError } from '../errors.ts'
import {
  composedPrompt,
  personaChange,
  personaConfig,
  personaConsent,
  personaDraft,
  personaEntry,
  personaSource,
} from '../shapes/agents.ts'
import { byProject, mode, nothing, personaId, project } from '../shapes/values.ts'

const byPersona = z.strictObject({ project, id: personaId })
/** The largest file that is read as a persona, in characters. */
const personaText = z.string().max(256 * 1024)
const revision = z.string().regex(/^[0-9a-f]{64}$/, 'must be the revision of a file that was read')

export const personaCalls = {
  list: query({
    about: 'Lists all files that are, or should be, personas; invalid ones with the reason.',
    input: byProject,
    output: z.array(personaEntry),
    run: async (centre, input) => centre.personas.listAll(await centre.projects.require(input.project)),
  }),

  get: query({
    about: 'Gives one persona.',
    input: byPersona,
    output: personaConfig,
    run: async (centre, input) => load(centre, await centre.projects.require(input.project), input.id),
  }),

  consent: query({
    about: 'Tells what a persona lets its agent do without asking, and whether the user granted that.',
    input: byPersona,
    output: personaConsent,
    run: async ({ host, projects }, input) => {
      const root = await projects.require(input.project)
      const found = await host.consent.load(root, input.id)
      if (found === null) throw missing(root, input.id)
      const { grants, isAllowed, fingerprint } = found
      return { grants, isAllowed, fingerprint }
    },
  }),

  allow: mutation({
    about: 'Grants exactly what was shown of a persona: the fingerprint is of that text.',
    input: byPersona.extend({ fingerprint: z.string().max(200) }),
    output: nothing,
    run: async ({ host, projects }, input) => {
      const root = await projects.require(input.project)
      if (await host.consent.allow(root, input.id, input.fingerprint)) return
      const message = `The file of ${input.id} has changed since it was shown. Look at it again.`
      throw callError('persona-changed', message)
    },
  }),

  revoke: mutation({
    about: 'Takes back what was granted to a persona.',
    input: byPersona,
    output: nothing,
    run: async ({ host, projects }, input) =>
      host.consent.revoke(await projects.require(input.project), input.id),
  }),

  prompt: query({
    about: 'Gives the system prompt of a turn, with its token count and the parts that were cut.',
    input: z.strictObject({ project, id: personaId.nullable(), mode }),
    output: composedPrompt,
    run: async (centre, input) => {
      const root = await centre.projects.require(input.project)
      const persona = input.id === null ? null : await load(centre, root, input.id)
      return centre.personas.composePrompt(root, persona, input.mode)
    },
  }),

  source: query({
    about: 'Gives the text of the file of a persona, also of one that is no persona yet.',
    input: byPersona,
    output: personaSource,
    run: async ({ personas, projects }, input) => {
      const root = await projects.require(input.project)
      const source = await personas.source(root, input.id)
      if (source === null) throw missing(root, input.id)
      return source
    },
  }),

  // A mutation only because a text is longer than an address may be: it writes nothing.
  check: mutation({
    about: 'Tells what a text would be as the file of a persona. Writes nothing.',
    input: byPersona.extend({ text: personaText, mode }),
    output: personaDraft,
    run: async (centre, input) => {
      const root = await centre.projects.require(input.project)
      const draft = await centre.personas.check(root, input.id, input.text, input.mode)
      return { ...draft, unmet: draft.persona === null ? [] : unmetBy(centre, draft.persona) }
    },
  }),

  save: mutation({
    about:
      'Writes the file of a persona, if it is still the one that was read. What the new text grants has to be allowed again.',
    input: byPersona.extend({ text: personaText, revision: revision.nullable() }),
    output: personaChange,
    run: async ({ personas, projects }, input) =>
      personas.save(await projects.require(input.project), input.id, input.text, input.revision),
  }),

  remove: mutation({
    about: 'Deletes the file of a persona, if it is still the one that was read.',
    input: byPersona.extend({ revision }),
    output: personaChange,
    run: async ({ host, personas, projects }, input) => {
      const root = await projects.require(input.project)
      const change = await personas.remove(root, input.id, input.revision)
      if (change.kind === 'done') await host.consent.revoke(root, input.id)
      return change
    },
  }),
}

function unmetBy({ harnesses }: Pick<Centre, 'harnesses'>, persona: PersonaConfig): string[] {
  const harness = persona.harness === undefined ? harnesses.getAll()[0] : harnesses.get(persona.harness)
  if (harness === undefined)
    return persona.harness === undefined ? [] : [`There is no agent ${persona.harness} on this machine.`]
  return personaTurnOpts(persona, harness.capabilities(), harness.id).warnings
}

async function load(
  { personas }: Pick<Centre, 'personas'>,
  root: string,
  id: string,
): Promise<PersonaConfig> {
  const persona = await personas.load(root, id)
  if (persona !== null) return persona
  throw missing(root, id)
}

function missing(root: string, id: string): CodedError {
  return callError('persona-missing', `There is no persona ${id} in ${root}.`)
}
