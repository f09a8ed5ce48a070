import type { CodedError } from '@chirality/core'
import { type PersonaConfig, personaTurnOpts } from '@chirality/personas'
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

  /** The text of the file, also of one that is no persona yet. */
  source: call(CALLS.personas.source).query(async ({ ctx, input }) => {
    const root = await ctx.projects.require(input.project)
    const source = await ctx.personas.source(root, input.id)
    if (source === null) throw missing(root, input.id)
    return source
  }),

  /** What a text would be as the file of this persona. */
  check: call(CALLS.personas.check).mutation(async ({ ctx, input }) => {
    const root = await ctx.projects.require(input.project)
    const draft = await ctx.personas.check(root, input.id, input.text, input.mode)
    return { ...draft, unmet: draft.persona === null ? [] : unmetBy(ctx, draft.persona) }
  }),

  /** Written only while the file is the one that was read. What the new text grants has to be allowed again. */
  save: call(CALLS.personas.save).mutation(async ({ ctx, input }) =>
    ctx.personas.save(await ctx.projects.require(input.project), input.id, input.text, input.revision),
  ),

  remove: call(CALLS.personas.remove).mutation(async ({ ctx, input }) => {
    const root = await ctx.projects.require(input.project)
    const change = await ctx.personas.remove(root, input.id, input.revision)
    if (change.kind === 'done') await ctx.host.consent.revoke(root, input.id)
    return change
  }),
})

function unmetBy({ harnesses }: CallContext, persona: PersonaConfig): string[] {
  const harness = persona.harness === undefined ? harnesses.getAll()[0] : harnesses.get(persona.harness)
  if (harness === undefined)
    return persona.harness === undefined ? [] : [`There is no agent ${persona.harness} on this machine.`]
  return personaTurnOpts(persona, harness.capabilities(), harness.id).warnings
}

async function loadPersona({ personas }: CallContext, root: string, id: string): Promise<PersonaConfig> {
  const persona = await personas.load(root, id)
  if (persona !== null) return persona
  throw missing(root, id)
}

function missing(root: string, id: string): CodedError {
  return callError('persona-missing', `There is no persona ${id} in ${root}.`)
}
