import type { ComposedPrompt, PersonaConfig, PersonaEntry } from '@chirality/personas'
import { z } from 'zod'
import { CallError } from '../errors/call-error.ts'
import type { CallContext } from './context.ts'
import { byProject, mode, personaId, project } from './inputs.ts'
import { procedure, router } from './trpc.ts'

export const personasRouter = router({
  /** All files that are, or should be, personas; those that cannot be used say why. */
  list: procedure
    .input(byProject)
    .query(
      async ({ ctx, input }): Promise<PersonaEntry[]> =>
        ctx.personas.listAll(await ctx.projects.require(input.project)),
    ),

  get: procedure
    .input(z.strictObject({ project, id: personaId }))
    .query(
      async ({ ctx, input }): Promise<PersonaConfig> =>
        loadPersona(ctx, await ctx.projects.require(input.project), input.id),
    ),

  /** The system prompt that a turn would get, with its tokens and what was cut. */
  prompt: procedure
    .input(z.strictObject({ project, id: personaId.nullable(), mode }))
    .query(async ({ ctx, input }): Promise<ComposedPrompt> => {
      const root = await ctx.projects.require(input.project)
      const persona = input.id === null ? null : await loadPersona(ctx, root, input.id)
      return ctx.personas.composePrompt(root, persona, input.mode)
    }),
})

async function loadPersona({ personas }: CallContext, root: string, id: string): Promise<PersonaConfig> {
  const persona = await personas.load(root, id)
  if (persona !== null) return persona
  throw new CallError('NOT_FOUND', 'persona-missing', `There is no persona ${id} in ${root}.`)
}
