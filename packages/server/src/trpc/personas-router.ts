import type { CodedError } from '@chirality/core'
import type { PersonaConfig } from '@chirality/personas'
import { CALLS } from '../contract/calls.ts'
import { callError } from '../errors/call-error.ts'
import type { CallContext } from './context.ts'
import { call, router } from './trpc.ts'

export const personasRouter = router({
  /** All files that are, or should be, personas; invalid ones with the reason. */
  list: call(CALLS.personas.list).query(async ({ ctx, input }) =>
    ctx.personas.listAll(await ctx.projects.require(input.project)),
  ),

  get: call(CALLS.personas.get).query(async ({ ctx, input }) =>
    loadPersona(ctx, await ctx.projects.require(input.project), input.id),
  ),

  /** Its permissions without asking, and whether the user granted them. */
  consent: call(CALLS.personas.consent).query(async ({ ctx, input }) => {
    const root = await ctx.projects.require(input.project)
    const found = await ctx.host.consent.load(root, input.id)
    if (found === null) throw missing(root, input.id)
    const { grants, isAllowed, fingerprint } = found
    return { grants, isAllowed, fingerprint }
  }),

  /** Grants exactly what was shown: the fingerprint is of that text. */
  allow: call(CALLS.personas.allow).mutation(async ({ ctx, input }) => {
    const root = await ctx.projects.require(input.project)
    if (await ctx.host.consent.allow(root, input.id, input.fingerprint)) return
    const message = `The file of ${input.id} has changed since it was shown. Look at it again.`
    throw callError('persona-changed', message)
  }),

  revoke: call(CALLS.personas.revoke).mutation(async ({ ctx, input }) => {
    await ctx.host.consent.revoke(await ctx.projects.require(input.project), input.id)
  }),

  /** The system prompt of a turn, with its token count and the parts that were cut. */
  prompt: call(CALLS.personas.prompt).query(async ({ ctx, input }) => {
    const root = await ctx.projects.require(input.project)
    const persona = input.id === null ? null : await loadPersona(ctx, root, input.id)
    return ctx.personas.composePrompt(root, persona, input.mode)
  }),
})

async function loadPersona({ personas }: CallContext, root: string, id: string): Promise<PersonaConfig> {
  const persona = await personas.load(root, id)
  if (persona !== null) return persona
  throw missing(root, id)
}

function missing(root: string, id: string): CodedError {
  return callError('persona-missing', `There is no persona ${id} in ${root}.`)
}
